// Softmax over the rows of a block of logits, in place: one pass over memory per row instead of one per operation.
#pragma once

#include <ATen/core/Tensor.h>

namespace fwl {

// Turns logits + bias into probabilities and returns each row's log-sum-exp.
// logits: N,V, contiguous, overwritten   bias: V or undefined   -> N
at::Tensor softmax_rows_(at::Tensor& logits, const at::Tensor& bias);

// q = p * (q + shift), row by row: the gradient of the logits, without its one-hot part, when shift = upstream - <p,
// q>. q: N,V, contiguous, overwritten   probabilities: N,V, contiguous in V   shift: N
void multiply_shifted_rows_(at::Tensor& q, const at::Tensor& probabilities, const at::Tensor& shift);

}  // namespace fwl
