// Fast weights inside the blocks of a base model: a small matrix beside each feed-forward part. The text is read in
// chunks; every chunk moves the matrices by the gradient of its loss, and the next chunk is read with them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "blocks/block_rule.h"
#include "memory/fast_memory.h"
#include "memory/fast_state.h"
#include "weights/weight_source.h"

namespace fwl {

struct BlockMemoryOptions {
  std::vector<int64_t> blocks;  // that have a memory, in ascending order; the number after the last: the head's input
  int64_t chunk_tokens = 128;   // C
  int64_t warmup_chunks = 4;    // the step size grows linearly over the first of them
  double max_update = 0.3;      // bound on an update's norm, relative to that of equal gradients for all tokens
  BlockRule rule = BlockRule::plain;
  double momentum = 0.5;        // share of the running mean that a chunk keeps, for that rule
  int64_t passes = 1;           // updates per chunk, each with a gradient at the weights that the one before has left
  bool is_first_order = false;  // training does not differentiate the gradients again
};

// v = f(y U), out += v W, where y is the normalised input of the feed-forward part and f the normalised squared ReLU.
struct BlockMemoryParameters {
  at::Tensor keys;          // S,D,R: U of each of the S blocks
  at::Tensor log_steps;     // S
  at::Tensor decay_logits;  // S, or undefined: nothing decays
  at::Tensor rates;         // D: how much a token counts, by its hidden state, or undefined: all alike
  at::Tensor start;         // S,R,D: W before anything is read, or undefined: zeros
};

// What the backward pass of a chunk gave.
struct BlockGradients {
  std::vector<at::Tensor> weights;  // S times B,R,D: of the chunk's mean loss
  std::vector<at::Tensor> outputs;  // S times B,T,D: of the same, with respect to v W
  at::Tensor token_weights;         // B,T: 0 for tokens that do not count
};

// A memory is constant; what it learns is in the state.
class BlockMemory {
 public:
  BlockMemory(BlockMemoryParameters parameters, BlockMemoryOptions options);

  const BlockMemoryOptions& options() const { return options_; }
  int64_t hidden_size() const { return parameters_.keys.size(1); }
  int64_t rank() const { return parameters_.keys.size(2); }
  int64_t index_of(int64_t block) const;  // among those with a memory; -1: it has none

  NamedTensors parameters() const;  // "blocks.U", "blocks.log_steps", …
  std::vector<std::string> step_parameter_names() const;
  std::vector<std::pair<std::string, double>> step_sizes() const;  // and decays, for records
  std::vector<DriftFigure> drift(const FastState& state) const;
  double flops_per_token() const;  // forward

  StateLayout state_layout() const;
  FastState new_state(int64_t sequences) const;
  std::vector<at::Tensor> weights(const FastState& state) const;  // S times B,R,D; of a new text if undefined

  // Factors of the tokens' losses in the step, from 0 to 2, for the inputs of the head.   B,T,D -> B,T,1, or undefined:
  // 1
  at::Tensor token_rates(const at::Tensor& hidden) const;
  at::Tensor features(int64_t index, const at::Tensor& input) const;  // N,D -> N,R

  // Moves the state by the gradients of a chunk. Texts of which no token counts stay as they are.
  void learn(FastState& state, const BlockGradients& gradients) const;
  // Moves it again, by the gradients of the same chunk at the weights as they are now: no further tokens are counted.
  void learn_again(FastState& state, const BlockGradients& gradients) const;

 private:
  at::Tensor update_by_rule(FastState& state, const at::Tensor& step, const at::Tensor& share) const;

  BlockMemoryParameters parameters_;
  BlockMemoryOptions options_;
};

}  // namespace fwl
