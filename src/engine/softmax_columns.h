// Softmax over the columns of a block of logits, in place, in as few passes over memory as it can be done.
// Words are rows and tokens are columns: in that layout the products around it are fastest (the vocabulary is the long
// side of every one), and the tokens fill the vector lanes.
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
