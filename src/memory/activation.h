// The layer's nonlinear steps and their inner gradients, with backward passes that keep and allocate little memory.
#pragma once

#include <ATen/core/Tensor.h>

namespace fwl {

// relu(z)^2
at::Tensor squared_relu(const at::Tensor& z);

// dz1 = 2 relu(z1) * (dz2 @ W^T): the gradient of the activation's input.
// dz2: B,T,D   W: H,D or B,H,D   z1: B,T,H -> B,T,H. dz2 @ W^T is computed again in the backward instead of kept.
at::Tensor input_gradient(const at::Tensor& dz2, const at::Tensor& W, const at::Tensor& z1);

// n = (z - mean) * r with r = (variance + epsilon)^-1/2, over the last dimension.   z: …,D -> …,D and …,1
struct Normalised {
  at::Tensor normal, inverse;
};
Normalised normalise(const at::Tensor& z, double epsilon);

}  // namespace fwl
