// Softmax over the columns of a block of logits, in place, with as few passes over memory as possible.
// The vocabulary is along rows and tokens along columns: in this layout the surrounding products are fastest, because
// the vocabulary is their long side, and tokens fill the vector lanes.
#pragma once

#include <ATen/core/Tensor.h>

namespace fwl {

// Turns logits + bias into probabilities and returns each column's log-sum-exp.
// logits: V,N, contiguous, overwritten   bias: V or undefined   -> N
at::Tensor softmax_columns_(at::Tensor& logits, const at::Tensor& bias);

// q = p * (q + shift), column by column: the gradient of the logits, without its one-hot part, when shift = upstream -
// <p, q>.   q: V,N, contiguous, overwritten   probabilities: V,N, contiguous   shift: N
void multiply_shifted_columns_(at::Tensor& q, const at::Tensor& probabilities, const at::Tensor& shift);

}  // namespace fwl
