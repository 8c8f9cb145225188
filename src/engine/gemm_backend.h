// The libraries that can multiply matrices here, and which of them is fastest: determined once by a short measurement.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <vector>

namespace fwl {

// With fp32 operands, or with operands rounded to bf16; sums are in fp32 within a product.
enum class GemmBackend { mkl_fp32, onednn_fp32, onednn_bf16, mkl_bf16 };

std::string_view name_of(GemmBackend backend);
bool rounds_to_bf16(GemmBackend backend);
bool is_available(GemmBackend backend);

// out = scale * (a @ b) + keep * out for matrices on the CPU. Operands are fp32, or bf16 already; out is fp32.
void multiply_by(GemmBackend backend, at::Tensor& out, const at::Tensor& a, const at::Tensor& b, double keep,
                 double scale);

struct GemmSpeed {
  GemmBackend backend;
  double flops_per_second;  // over the shapes below, with the weights converted beforehand
};
// Of those that are worth trying: bf16 without units for it is emulated, and a noisy measurement must not select that.
// Shapes: a layer and a vocabulary, as in training and scoring.
const std::vector<GemmSpeed>& gemm_speeds();

// MKL in fp32, unless another is a tenth faster.
GemmBackend fastest_gemm();

// Rounds on every machine, fast or not; none where no library does.
bool has_emulated_bf16();
GemmBackend any_bf16_gemm();

}  // namespace fwl
