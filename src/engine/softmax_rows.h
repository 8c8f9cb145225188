// Softmax over the rows of a block of logits, in place: one pass over memory per row instead of one per operation.
#pragma once

#include <ATen/core/Tensor.h>

namespace fwl {

// Turns logits + bias into probabilities and returns each row's log-sum-exp.
// logits: N,V, contiguous, overwritten   bias: V or undefined   -> N
at::Tensor softmax_rows_(at::Tensor& logits, const at::Tensor& bias);

// Turns q into the gradient of the logits, p * (q - <p, q> + extra), without the one-hot part.
// probabilities: N,V   q: N,V, contiguous, overwritten   extra: N
void softmax_backward_rows_(const at::Tensor& probabilities, at::Tensor& q, const at::Tensor& extra);

}  // namespace fwl
