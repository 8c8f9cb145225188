#include "engine/gemm_backend.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>

#include "engine/torch.h"
#include "support/cpu.h"

// oneDNN's product of fp32 matrices; exported by LibTorch, without a header in the wheel.
namespace at::native {
void mkldnn_matmul(const Tensor& a, const Tensor& b, const Tensor& out, float keep, float scale);
}

namespace fwl {
namespace {

constexpr GemmBackend every_backend[] = {GemmBackend::mkl_fp32, GemmBackend::onednn_fp32, GemmBackend::onednn_bf16,
                                         GemmBackend::mkl_bf16};

// MKL's interface, exported by LibTorch; its headers are not in the wheel.
constexpr int row_major = 101, no_transpose = 111, transpose = 112;
using MklBf16 = void (*)(int layout, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                         const uint16_t* a, int lda, const uint16_t* b, int ldb, float beta, float* c, int ldc);

MklBf16 mkl_bf16_gemm() {
  static const auto found = reinterpret_cast<MklBf16>(dlsym(RTLD_DEFAULT, "cblas_gemm_bf16bf16f32"));
  return found;
}

// A matrix as GEMM needs it: rows are contiguous, or columns, which makes it transposed.
struct MklOperand {
  at::Tensor values;
  int order;
  int leading;

  explicit MklOperand(const at::Tensor& matrix) {
    const bool is_transposed = matrix.stride(0) == 1 && matrix.stride(1) >= matrix.size(0);
    const bool is_plain = matrix.stride(1) == 1 && matrix.stride(0) >= matrix.size(1);
    const auto source = is_plain ? matrix : is_transposed ? matrix.t() : matrix.contiguous();
    values = source.to(at::kBFloat16);
    order = is_plain || !is_transposed ? no_transpose : transpose;
    leading = static_cast<int>(values.stride(0));
  }
  const uint16_t* data() const { return static_cast<const uint16_t*>(values.const_data_ptr()); }
};

void multiply_by_mkl_bf16(at::Tensor& out, const at::Tensor& a, const at::Tensor& b, double keep, double scale) {
  const MklOperand left(a), right(b);
  const bool is_direct = out.stride(1) == 1 && out.stride(0) >= out.size(1);
  auto target = is_direct ? out : out.contiguous();
  mkl_bf16_gemm()(row_major, left.order, right.order, static_cast<int>(a.size(0)), static_cast<int>(b.size(1)),
                  static_cast<int>(a.size(1)), static_cast<float>(scale), left.data(), left.leading, right.data(),
                  right.leading, static_cast<float>(keep), target.mutable_data_ptr<float>(),
                  static_cast<int>(target.stride(0)));
  if (!is_direct) out.copy_(target);
}

// The engine multiplies bf16 with oneDNN, and rounds the result to bf16 too; what is added to stays fp32.
void multiply_by_onednn_bf16(at::Tensor& out, const at::Tensor& a, const at::Tensor& b, double keep, double scale) {
  const auto rounded = at::mm(a.to(at::kBFloat16), b.to(at::kBFloat16));
  if (keep == 0) {
    out.copy_(rounded);
    if (scale != 1) out.mul_(scale);
  } else {
    out.mul_(keep).add_(rounded, scale);
  }
}

void multiply_by_onednn_fp32(at::Tensor& out, const at::Tensor& a, const at::Tensor& b, double keep, double scale) {
  auto target = out.is_contiguous() ? out : out.contiguous();
  at::native::mkldnn_matmul(a, b, target, static_cast<float>(keep), static_cast<float>(scale));
  if (!target.is_same(out)) out.copy_(target);
}

void multiply_by_mkl_fp32(at::Tensor& out, const at::Tensor& a, const at::Tensor& b, double keep, double scale) {
  if (keep == 0 && scale == 1)
    at::mm_out(out, a, b);
  else
    at::addmm_out(out, out, a, b, keep, scale);
}

bool has_bf16_units() {
  const auto& cpu = cpu_features();
  return cpu.avx512_bf16 || (cpu.amx_bf16 && !cpu.is_amx_broken);
}

double best_seconds(const std::function<void()>& multiply) {
  double best = 1e9;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    multiply();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

struct Shape {
  int64_t rows, inner, columns;
};

double measured_speed(GemmBackend backend) {
  constexpr Shape shapes[] = {{256, 768, 768}, {256, 576, 1536}, {128, 768, 4096}};
  double seconds = 0, operations = 0;
  for (const auto& [rows, inner, columns] : shapes) {
    const auto x = at::rand({rows, inner});
    auto weight = at::rand({columns, inner});
    if (rounds_to_bf16(backend)) weight = weight.to(at::kBFloat16);
    auto out = at::empty({rows, columns});
    seconds += best_seconds([&] { multiply_by(backend, out, x, weight.t(), 0, 1); });
    operations += 2.0 * static_cast<double>(rows * inner * columns);
  }
  return operations / seconds;
}

std::vector<GemmSpeed> measure() {
  const at::NoGradGuard no_grad;
  std::vector<GemmSpeed> speeds;
  for (const auto backend : every_backend)
    if (is_available(backend) && (!rounds_to_bf16(backend) || has_bf16_units()))
      speeds.push_back({backend, measured_speed(backend)});
  return speeds;
}

}  // namespace

std::string_view name_of(GemmBackend backend) {
  switch (backend) {
    case GemmBackend::mkl_fp32:
      return "MKL fp32";
    case GemmBackend::onednn_fp32:
      return "oneDNN fp32";
    case GemmBackend::onednn_bf16:
      return "oneDNN bf16";
    case GemmBackend::mkl_bf16:
      return "MKL bf16";
  }
  return "";
}

bool rounds_to_bf16(GemmBackend backend) {
  return backend == GemmBackend::onednn_bf16 || backend == GemmBackend::mkl_bf16;
}

bool is_available(GemmBackend backend) {
  if (backend == GemmBackend::mkl_bf16) return mkl_bf16_gemm() != nullptr;
  return backend == GemmBackend::mkl_fp32 || at::hasMKLDNN();
}

void multiply_by(GemmBackend backend, at::Tensor& out, const at::Tensor& a, const at::Tensor& b, double keep,
                 double scale) {
  switch (backend) {
    case GemmBackend::mkl_fp32:
      return multiply_by_mkl_fp32(out, a, b, keep, scale);
    case GemmBackend::onednn_fp32:
      return multiply_by_onednn_fp32(out, a, b, keep, scale);
    case GemmBackend::onednn_bf16:
      return multiply_by_onednn_bf16(out, a, b, keep, scale);
    case GemmBackend::mkl_bf16:
      return multiply_by_mkl_bf16(out, a, b, keep, scale);
  }
}

const std::vector<GemmSpeed>& gemm_speeds() {
  static const std::vector<GemmSpeed> speeds = measure();
  return speeds;
}

GemmBackend fastest_gemm() {
  const auto& speeds = gemm_speeds();
  auto best = speeds.front();  // MKL in fp32
  for (const auto& speed : speeds)
    if (speed.flops_per_second > std::max(best.flops_per_second, 1.1 * speeds.front().flops_per_second)) best = speed;
  return best.backend;
}

bool has_emulated_bf16() {
  return is_available(GemmBackend::mkl_bf16) || is_available(GemmBackend::onednn_bf16);
}

GemmBackend any_bf16_gemm() {
  return is_available(GemmBackend::mkl_bf16) ? GemmBackend::mkl_bf16 : GemmBackend::onednn_bf16;
}

}  // namespace fwl
