// A base language model: token ids and what was read before them, to hidden states.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/base_state.h"
#include "base/token_rows.h"
#include "head/head.h"
#include "weights/parameter_list.h"

namespace fwl {

// How one call reads.
struct BaseCall {
  bool is_training = false;  // dropout acts
};

// Reading is const and keeps nothing in the model: threads may read different states over one model at once.
class BaseModel {
 public:
  virtual ~BaseModel() = default;

  virtual std::string architecture() const = 0;
  virtual int64_t hidden_size() const = 0;  // D
  virtual int64_t vocabulary_size() const = 0;
  NamedTensors parameters() const { return weights_.parameters; }        // dense ones, under their published names
  const WeightCounts& weight_counts() const { return weights_.counts; }  // of all, quantised or dense
  size_t weight_bytes() const { return weights_.bytes(); }
  virtual std::shared_ptr<const Head> head() const = 0;

  // Where the weights are and of what type; states and hidden states are there too, whatever the tokens' device.
  at::Device device() const { return options().device(); }
  at::ScalarType dtype() const { return c10::typeMetaToScalarType(options().dtype()); }
  at::TensorOptions options() const;
  // Moves the weights for everybody who holds them, heads included; those that were quantised are dense parameters
  // then. Not while somebody reads; earlier states stay where they were and cannot be gone on with.
  void to(at::Device device);

  // What states look back at unless they are made otherwise.
  virtual ContextOptions default_context() const = 0;
  int64_t context_tokens() const { return default_context().context_tokens; }  // 0: reads texts of any length

  BaseState new_state(int64_t sequences) const { return new_state(sequences, default_context()); }
  BaseState new_state(int64_t sequences, const ContextOptions& context) const;

  // A copy with nothing but what is needed to go on, and the shapes that its cache must then have: what is saved, and
  // what a saved state is checked against.
  virtual BaseState trimmed(const BaseState& state) const = 0;
  virtual std::vector<std::vector<int64_t>> cache_shapes(const BaseState& trimmed) const = 0;

  // Products per token besides those with the parameters, for segments of T tokens: scores and what they weigh.
  virtual double attention_flops(int64_t segment_tokens) const = 0;

  // Reads tokens (B,T) and moves the state past them. -> B,T,D, ready for the head
  at::Tensor read(const at::Tensor& tokens, BaseState& state, const BaseCall& call = {}) const;

  // The same for several states in one pass, each at its own position and with its own number of tokens. The states
  // must be different ones. Where a span cannot be read, no state has moved.
  std::vector<at::Tensor> read(const std::vector<TokenSpan>& spans, const BaseCall& call = {}) const;

 protected:
  virtual std::vector<at::Tensor> read_checked(const std::vector<TokenSpan>& spans, const BaseCall& call) const = 0;
  virtual void check_context(const ContextOptions& context) const = 0;  // throws UserError if it cannot read so
  virtual void weights_moved() {}                                       // for what was made of the weights

  ModelWeights weights_;

 private:
  void check_span(const TokenSpan& span) const;
};

}  // namespace fwl
