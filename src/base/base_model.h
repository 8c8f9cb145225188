// A base language model: token ids, and the state of earlier ones, to hidden states.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/base_state.h"
#include "base/block_addition.h"
#include "base/token_rows.h"
#include "head/head_factory.h"
#include "weights/parameter_list.h"

namespace fwl {

// Options of one call.
struct BaseCall {
  bool is_training = false;                 // applies dropout
  const BlockAddition* addition = nullptr;  // to the blocks' feed-forward outputs
};

// Reading is const and keeps nothing in the model, so threads can read different states over one model at once.
class BaseModel {
 public:
  virtual ~BaseModel() = default;

  virtual std::string architecture() const = 0;
  virtual int64_t hidden_size() const = 0;  // D
  virtual int64_t blocks() const = 0;
  virtual int64_t vocabulary_size() const = 0;
  NamedTensors parameters() const { return weights_.parameters; }        // the dense ones, by published name
  const WeightCounts& weight_counts() const { return weights_.counts; }  // quantised and dense
  bool has_quantized_weights() const { return !weights_.quantized.empty(); }
  size_t weight_bytes() const { return weights_.bytes(); }
  std::shared_ptr<const Head> head() const { return head_.head(); }
  void set_head_options(const HeadOptions& options) { head_.set_options(options); }  // not while somebody reads

  // Device and type of the weights, and so of states and hidden states, whatever the tokens' device.
  at::Device device() const { return options().device(); }
  at::ScalarType dtype() const { return c10::typeMetaToScalarType(options().dtype()); }
  at::TensorOptions options() const;
  // Moves the weights, for heads and all other handles; quantised ones become dense parameters. Not thread-safe.
  // Existing states stay on the old device and cannot be used any more.
  void to(at::Device device);

  // The context of states that are made without one.
  virtual ContextOptions default_context() const = 0;
  int64_t context_tokens() const { return default_context().context_tokens; }  // 0: no limit

  BaseState new_state(int64_t sequences) const { return new_state(sequences, default_context()); }
  BaseState new_state(int64_t sequences, const ContextOptions& context) const;

  // For session files: a copy of the state with only what is needed to continue, and the shapes of that copy's cache,
  // against which a loaded state is checked.
  virtual BaseState trimmed(const BaseState& state) const = 0;
  virtual std::vector<std::vector<int64_t>> cache_shapes(const BaseState& trimmed) const = 0;

  // FLOPs per token of attention scores and weighted sums, without parameters, for segments of T tokens.
  virtual double attention_flops(int64_t segment_tokens) const = 0;

  // How many tokens fit before the next window starts; a large number if there are no windows.
  virtual int64_t window_room(const BaseState& state) const;
  // Takes back the last tokens, at most state.undo_tokens, so that they can be read again.
  virtual void rewind(BaseState& state, int64_t tokens) const;

  void expect_own(const BaseState& state) const;  // throws UserError if a model of another shape made it
  void check(const TokenSpan& span) const;        // throws UserError unless its tokens can be read

  // Reads tokens (B,T) and advances the state. -> B,T,D, the input of the head
  at::Tensor read(const at::Tensor& tokens, BaseState& state, const BaseCall& call = {}) const;

  // The same for several distinct states in one pass, each at its own position and with its own number of tokens. If a
  // span is invalid, no state changes.
  std::vector<at::Tensor> read(const std::vector<TokenSpan>& spans, const BaseCall& call = {}) const;

 protected:
  // The output of a block's feed-forward part (N,D) with what the call adds to it. After the last block: that of the
  // whole, as if it were a block whose input and output are the input of the head.
  static at::Tensor with_addition(const BaseCall& call, int64_t block, const at::Tensor& input,
                                  const at::Tensor& output, const TokenRows& rows);
  virtual std::vector<at::Tensor> read_checked(const std::vector<TokenSpan>& spans, const BaseCall& call) const = 0;
  virtual void check_context(const ContextOptions& context) const = 0;  // throws UserError if unsupported

  ModelWeights weights_;
  HeadFactory head_;

 private:
  std::string shape() const;
};

}  // namespace fwl
