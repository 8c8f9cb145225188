#include "engine/products.h"

#include <dlfcn.h>

#include <chrono>

#include "engine/row_products.h"
#include "engine/torch.h"
#include "support/cpu.h"
#include "support/discardable.h"
#include "support/error.h"

namespace fwl {
namespace {

thread_local ProductPrecision chosen_precision = ProductPrecision::exact;

// MKL's interface, exported by LibTorch; its headers are not in the wheel.
constexpr int row_major = 101, no_transpose = 111, transpose = 112;
using Bf16Gemm = void (*)(int layout, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                          const uint16_t* a, int lda, const uint16_t* b, int ldb, float beta, float* c, int ldc);

Bf16Gemm mkl_bf16_gemm() {
  static const auto found = reinterpret_cast<Bf16Gemm>(dlsym(RTLD_DEFAULT, "cblas_gemm_bf16bf16f32"));
  return found;
}

// A matrix as GEMM needs it: rows are contiguous, or columns, which makes it transposed.
struct GemmOperand {
  at::Tensor values;
  int order;
  int leading;

  explicit GemmOperand(const at::Tensor& matrix) {
    const bool is_transposed = matrix.stride(0) == 1 && matrix.stride(1) >= matrix.size(0);
    const bool is_plain = matrix.stride(1) == 1 && matrix.stride(0) >= matrix.size(1);
    const auto source = is_plain ? matrix : is_transposed ? matrix.t() : matrix.contiguous();
    values = source.to(at::kBFloat16).contiguous();
    order = is_plain || !is_transposed ? no_transpose : transpose;
    leading = static_cast<int>(values.size(1));
  }
  const uint16_t* data() const { return static_cast<const uint16_t*>(values.const_data_ptr()); }
};

void bf16_product_into(at::Tensor& out, const at::Tensor& a, const at::Tensor& b, double keep, double scale) {
  const GemmOperand left(a), right(b);
  const bool is_direct = out.stride(1) == 1 && out.stride(0) >= out.size(1);
  auto target = is_direct ? out : out.contiguous();
  mkl_bf16_gemm()(row_major, left.order, right.order, static_cast<int>(a.size(0)), static_cast<int>(b.size(1)),
                  static_cast<int>(a.size(1)), static_cast<float>(scale), left.data(), left.leading, right.data(),
                  right.leading, static_cast<float>(keep), target.mutable_data_ptr<float>(),
                  static_cast<int>(target.stride(0)));
  if (!is_direct) out.copy_(target);
}

double seconds_per_product(const std::function<void()>& multiply) {
  double best = 1e9;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    multiply();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

// Checks the CPU before measuring: without bf16 units MKL emulates them, and a noisy measurement must not select that.
bool measure_bf16_gemm() {
  const auto& cpu = cpu_features();
  if (!mkl_bf16_gemm() || !(cpu.avx512_bf16 || (cpu.amx_bf16 && !cpu.is_amx_broken))) return false;
  const at::NoGradGuard no_grad;
  constexpr int64_t probe_size = 512;
  const auto a = at::rand({probe_size, probe_size}), b = at::rand({probe_size, probe_size});
  auto out = at::empty({probe_size, probe_size});
  const double exact = seconds_per_product([&] { at::mm_out(out, a, b); });
  const double rounded = seconds_per_product([&] { bf16_product_into(out, a, b, 0, 1); });
  return rounded < 0.9 * exact;
}

bool uses_bf16(const at::Tensor& tensor) {
  const ProductPrecision precision = chosen_precision;
  if (precision == ProductPrecision::exact || tensor.scalar_type() != at::kFloat) return false;
  if (!tensor.is_cpu()) return true;
  return precision == ProductPrecision::bf16 ? has_fast_bf16_gemm() : has_bf16_gemm();
}

void product_into_matrix(at::Tensor& out, const at::Tensor& a, const at::Tensor& b, double keep, double scale) {
  const bool is_empty = out.numel() == 0 || a.size(1) == 0;
  if (uses_bf16(out) && out.is_cpu() && !is_empty) return bf16_product_into(out, a, b, keep, scale);
  if (uses_bf16(out)) {
    const auto rounded = at::mm(a.to(at::kBFloat16), b.to(at::kBFloat16)).to(at::kFloat);
    keep == 0 ? out.copy_(rounded * scale) : out.mul_(keep).add_(rounded, scale);
    return;
  }
  if (keep == 0 && scale == 1)
    at::mm_out(out, a, b);
  else
    at::addmm_out(out, out, a, b, keep, scale);
}

// The same product with its own backward pass, because autograd would not use the chosen precision.
class Bf16Product : public torch::autograd::Function<Bf16Product> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& a, const at::Tensor& b) {
    context->save_for_backward({a, b});
    context->saved_data["precision"] = static_cast<int64_t>(product_precision());
    return multiply(a, b);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    // Autograd may run this in another thread.
    const PrecisionScope as_forward(static_cast<ProductPrecision>(context->saved_data["precision"].toInt()));
    const auto saved = context->get_saved_variables();
    const auto &a = saved[0], &b = saved[1], gradient = gradients[0].contiguous();
    // Applied again, so that these products can be differentiated too.
    at::Tensor grad_a, grad_b;
    if (context->needs_input_grad(0)) grad_a = Bf16Product::apply(gradient, b.transpose(-1, -2));
    if (context->needs_input_grad(1))
      grad_b = b.dim() == 3
                   ? Bf16Product::apply(a.transpose(1, 2), gradient)
                   : Bf16Product::apply(a.reshape({-1, a.size(-1)}).t(), gradient.reshape({-1, gradient.size(-1)}));
    return {grad_a, grad_b};
  }

 private:
  static at::Tensor multiply(const at::Tensor& a, const at::Tensor& b) {
    auto shape = a.sizes().vec();
    shape.back() = b.size(-1);
    if (b.dim() == 3) {
      auto out = at::empty(shape, a.options());
      product_into(out, a, b);
      return out;
    }
    auto out = at::empty({a.numel() / std::max<int64_t>(1, a.size(-1)), b.size(-1)}, a.options());
    product_into(out, a.reshape({-1, a.size(-1)}), b);
    return out.view(shape);
  }
};

}  // namespace

PrecisionScope::PrecisionScope(ProductPrecision precision) : before_(chosen_precision) {
  chosen_precision = precision;
}

PrecisionScope::~PrecisionScope() {
  chosen_precision = before_;
}

ProductPrecision product_precision() {
  return chosen_precision;
}

void set_product_precision(ProductPrecision precision) {
  chosen_precision = precision;
}

ProductPrecision precision_from_name(const std::string& where, const std::string& name) {
  if (name == "fp32") return ProductPrecision::exact;
  if (name == "bf16") return ProductPrecision::bf16;
  if (name == "bf16-everywhere") return ProductPrecision::bf16_everywhere;
  fail(where, "fp32, bf16 or bf16-everywhere", "'" + name + "'");
}

bool has_fast_bf16_gemm() {
  static const bool is_fast = measure_bf16_gemm();
  return is_fast;
}

bool has_bf16_gemm() {
  return mkl_bf16_gemm() != nullptr;
}

std::string product_backend() {
  return has_fast_bf16_gemm() ? "bf16 by MKL's bf16 GEMM"
                              : "bf16 mode multiplies in fp32 (no fast bf16 GEMM on this machine)";
}

void product_into(at::Tensor& out, const at::Tensor& a, const at::Tensor& b, double keep, double scale) {
  end_if_discarded();
  if (out.dim() == 2) return product_into_matrix(out, a, b, keep, scale);
  if (out.size(0) == 1) {
    auto matrix = out.select(0, 0);
    return product_into_matrix(matrix, a.select(0, 0), b.select(0, 0), keep, scale);
  }
  if (!uses_bf16(out)) {
    at::baddbmm_out(out, out, a, b, keep, scale);
    return;
  }
  for (int64_t index = 0; index < out.size(0); ++index) {
    auto slice = out[index];
    product_into_matrix(slice, a[index], b[index], keep, scale);
  }
}

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  end_if_discarded();
  if (has_independent_rows() && b.dim() == 2 && a.is_cpu() && a.scalar_type() == at::kFloat &&
      !at::GradMode::is_enabled())
    return product_by_rows(a, b);
  return uses_bf16(a) ? Bf16Product::apply(a, b) : at::matmul(a, b);
}

}  // namespace fwl
