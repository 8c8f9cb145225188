// The smallest fast weight: only the output bias follows the gradients, logits' = logits - step * sum_{i<t} (p_i -
// onehot_i).
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "head/head.h"

namespace fwl {

struct BiasOnlyOutput {
  at::Tensor slow_loss, fast_loss;  // B,T
  std::vector<at::Tensor> state;    // per cluster (one for the full softmax): B,tokens
};

// hidden: B,T,D   targets: B,T   log_step: one number   token_weights: B,T or undefined   state: empty for a fresh one.
// An adaptive head's tail biases move only with the tokens of their own cluster. Differentiable to hidden states, head
// and step size; works in blocks of tokens.
BiasOnlyOutput bias_only(const at::Tensor& hidden, const at::Tensor& targets, const Head& head,
                         const at::Tensor& log_step, const at::Tensor& token_weights,
                         const std::vector<at::Tensor>& state);

}  // namespace fwl
