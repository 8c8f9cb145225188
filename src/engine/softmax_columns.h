// Softmax over the columns of a block of logits, in place, with as few passes over memory as possible.
// The vocabulary is along rows and tokens along columns: in this layout the surrounding products are fastest, because
// the vocabulary is their long side, and tokens fill the vector lanes.
#pragma once

#include <ATen/core/Tensor.h>

namespace fwl {

// Turns logits + bias into probabilities and returns each column's log-sum-exp.
// logits: V,N, contiguous, overwritten   bias: V or undefined   -> N
at::Tensor softmax_columns_(at::Tensor& logits, const at::Tensor& bias);

// The softmax over the columns of a block that is seen tile by tile.
class RunningSoftmax {
 public:
  RunningSoftmax(int64_t columns, const at::TensorOptions& options);

  void add(const at::Tensor& logits, const at::Tensor& bias);  // rows,columns, contiguous, not changed   bias: rows
  // The same, and turns logits + bias into exponentials relative to the largest logit so far. Returns what exponentials
  // of earlier tiles must be multiplied by.   -> columns
  at::Tensor exponentiate_(at::Tensor& logits, const at::Tensor& bias);

  at::Tensor log_sums() const;
  at::Tensor totals() const;  // of the exponentials

 private:
  at::Tensor maxima_, totals_;  // columns; totals in double
};

// q = p * (q + shift), column by column: the gradient of the logits, without its one-hot part, when shift = upstream -
// <p, q>.   q: V,N, contiguous, overwritten   probabilities: V,N, contiguous   shift: N
void multiply_shifted_columns_(at::Tensor& q, const at::Tensor& probabilities, const at::Tensor& shift);

}  // namespace fwl
