// The layer's activation and the inner gradient behind it, with backwards that keep and allocate as little as they can.
#pragma once

#include <ATen/core/Tensor.h>

namespace fwl {

// relu(z)^2
at::Tensor squared_relu(const at::Tensor& z);

// dz1 = 2 relu(z1) * (dz2 @ W^T): the gradient of the activation's input.
// dz2: B,T,D   W: H,D or B,H,D   z1: B,T,H -> B,T,H. dz2 @ W^T is computed again in the backward instead of kept.
at::Tensor input_gradient(const at::Tensor& dz2, const at::Tensor& W, const at::Tensor& z1);

}  // namespace fwl
