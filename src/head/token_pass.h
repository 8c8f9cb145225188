// One pass over the rows of a full softmax for one token: logits of one hidden state, and for another the mean of the
// rows under its probabilities, which is the gradient of its loss but for the target's row.
#pragma once

#include "head/head.h"
#include "kernels/quantized_rows.h"

namespace fwl {

// hidden, learning: 1,D   bias: V or undefined
TokenPass token_pass_over(const QuantizedRows& rows, const at::Tensor& bias, const at::Tensor& hidden,
                          const at::Tensor& learning);

}  // namespace fwl
