// A base language model: token ids and what was read before them, to hidden states.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/context.h"
#include "head/head.h"
#include "weights/parameter_list.h"

namespace fwl {

// What a base model remembers of B texts that it reads in step. Reading changes it in place, so it moves but does not
// copy by accident.
struct BaseState {
  int64_t sequences = 1;            // B
  ContextOptions context;           // fixed for the state's life
  int64_t tokens_read = 0;          // of each text
  int64_t cached_tokens = 0;        // how many of the last of them `cache` holds
  int64_t window_start = 0;         // the position at which the model's own counting of positions starts
  std::vector<at::Tensor> cache;    // per layer what the architecture keeps; may have room for more than cached_tokens
  at::Tensor recent;                // B,n: the last token ids, where a window must be read again
  std::vector<at::Tensor> derived;  // what follows from the weights alone and is kept to save time; never saved

  BaseState() = default;
  BaseState(BaseState&&) = default;
  BaseState& operator=(BaseState&&) = default;
  BaseState clone() const;
  size_t bytes() const;

 private:
  BaseState(const BaseState&) = default;
};

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
  virtual NamedTensors parameters() const = 0;            // dense ones, under their published names
  virtual const WeightCounts& weight_counts() const = 0;  // of all, quantised or dense
  virtual std::shared_ptr<const Head> head() const = 0;

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

 protected:
  virtual at::Tensor read_checked(const at::Tensor& tokens, BaseState& state, const BaseCall& call) const = 0;
  virtual void check_context(const ContextOptions& context) const = 0;  // throws UserError if it cannot read so
};

}  // namespace fwl
