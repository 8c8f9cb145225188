// Pointwise operations of a transformer, each in one pass over memory if no gradient is needed.
#pragma once

#include <ATen/core/Tensor.h>

namespace fwl {

// x / sqrt(mean(x^2) + epsilon) * gain, over the last dimension.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& gain, double epsilon);

// silu(gate) * up
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

// The activation of a gated feed-forward part: activation(gate) * up. gelu is the approximation with tanh.
enum class GateActivation { silu, gelu };
at::Tensor gated(GateActivation activation, const at::Tensor& gate, const at::Tensor& up);

// Without gradients, in one pass each: max(z, 0)^2, factor * 2 max(z, 0), and scale * x + shift strictly below the
// diagonal of matrices (B,C,C), 0 elsewhere.
at::Tensor squared_relu_values(const at::Tensor& z);
at::Tensor twice_relu_times(const at::Tensor& z, const at::Tensor& factor);
void strict_lower_affine_(at::Tensor& x, double scale, double shift);

// Which two values of a head are rotated as a pair: neighbours (GGUF files of Llama models), or one from each half
// (Hugging Face).
enum class RotaryPairs { neighbours, halves };

struct RotaryAngles {
  at::Tensor cosines, sines;  // T,d/2
};
// frequencies: d/2, double   positions: T, or the T that follow from `first` on. `scale` multiplies what is rotated.
RotaryAngles rotary_angles(const at::Tensor& frequencies, const at::Tensor& positions,
                           const at::TensorOptions& options = at::kFloat, double scale = 1);
RotaryAngles rotary_angles(const at::Tensor& frequencies, int64_t first, int64_t count);

// x: B,T,heads,d. Rotates the first values of each head, two for each frequency; the others stay. Rotates x in place if
// no gradient is needed and x is contiguous.
at::Tensor rotate_(const at::Tensor& x, const RotaryAngles& angles, RotaryPairs pairs);

}  // namespace fwl
