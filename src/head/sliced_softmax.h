// The full softmax over a quantised weight matrix that is too large to be dequantised as a whole: one pass over slices
// of the vocabulary, with a running maximum and sum.
#pragma once

#include "head/head.h"
#include "weights/matrix.h"

namespace fwl {

// hidden: N,D   weight: V,D, quantised   bias: V or undefined, constant   targets: N -> N
at::Tensor sliced_softmax_loss(const at::Tensor& hidden, const Matrix& weight, const at::Tensor& bias,
                               const at::Tensor& targets, const HeadOptions& options);

LossAndGradient sliced_softmax_loss_and_gradient(const at::Tensor& hidden, const Matrix& weight, const at::Tensor& bias,
                                                 const at::Tensor& targets, const HeadOptions& options);

}  // namespace fwl
