#include "engine/products.h"

#include <fmt/format.h>

#include "engine/gemm_backend.h"
#include "engine/rounded_weights.h"
#include "engine/row_products.h"
#include "engine/torch.h"
#include "support/discardable.h"
#include "support/error.h"

namespace fwl {
namespace {

thread_local ProductPrecision chosen_precision = ProductPrecision::exact;

// Of this thread's fp32 products on the CPU.
GemmBackend chosen_backend() {
  switch (chosen_precision) {
    case ProductPrecision::exact:
      return GemmBackend::mkl_fp32;
    case ProductPrecision::bf16:
      return fastest_gemm();
    case ProductPrecision::bf16_everywhere:
      return any_bf16_gemm();
  }
  return GemmBackend::mkl_fp32;
}

bool is_exact(const at::Tensor& tensor) {
  return chosen_precision == ProductPrecision::exact || tensor.scalar_type() != at::kFloat;
}

void rounded_on_device(at::Tensor& out, const at::Tensor& a, const at::Tensor& b, double keep, double scale) {
  const auto rounded = at::mm(a.to(at::kBFloat16), b.to(at::kBFloat16)).to(at::kFloat);
  keep == 0 ? out.copy_(rounded * scale) : out.mul_(keep).add_(rounded, scale);
}

void product_into_matrix(at::Tensor& out, const at::Tensor& a, const at::Tensor& b, double keep, double scale) {
  const bool is_empty = out.numel() == 0 || a.size(1) == 0;
  if (is_empty || is_exact(out)) return multiply_by(GemmBackend::mkl_fp32, out, a, b, keep, scale);
  if (!out.is_cpu()) return rounded_on_device(out, a, b, keep, scale);
  multiply_by(chosen_backend(), out, a, b, keep, scale);
}

// The product with its own backward pass, because autograd would not use the chosen precision. `rounded` is b in bf16
// if that is known already, and otherwise b again.
class ChosenProduct : public torch::autograd::Function<ChosenProduct> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& a, const at::Tensor& b,
                            const at::Tensor& rounded) {
    context->save_for_backward({a, b, rounded});
    context->saved_data["precision"] = static_cast<int64_t>(product_precision());
    return multiply(a, rounded);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    // Autograd may run this in another thread.
    const PrecisionScope as_forward(static_cast<ProductPrecision>(context->saved_data["precision"].toInt()));
    const auto saved = context->get_saved_variables();
    const auto &a = saved[0], &b = saved[1], gradient = gradients[0].contiguous();
    // Applied again, so that these products can be differentiated too.
    at::Tensor grad_a, grad_b;
    if (context->needs_input_grad(0))
      grad_a = ChosenProduct::apply(gradient, b.transpose(-1, -2), saved[2].transpose(-1, -2));
    if (context->needs_input_grad(1)) {
      const bool is_batch = b.dim() == 3;
      const auto right = is_batch ? gradient : gradient.reshape({-1, gradient.size(-1)});
      const auto left = is_batch ? a.transpose(1, 2) : a.reshape({-1, a.size(-1)}).t();
      grad_b = ChosenProduct::apply(left, right, right);
    }
    return {grad_a, grad_b, {}};
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

// Rows that must not depend on those beside them (row_products.h) are multiplied one by one.
bool takes_rows_alone(const at::Tensor& a, const at::Tensor& b) {
  return has_independent_rows() && b.dim() == 2 && a.is_cpu() && a.scalar_type() == at::kFloat &&
         !at::GradMode::is_enabled();
}

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
  if (name == "auto" || name == "fp32") return ProductPrecision::exact;
  if (name == "bf16") return ProductPrecision::bf16;
  if (name == "bf16-everywhere") return ProductPrecision::bf16_everywhere;
  fail(where, "auto, fp32, bf16 or bf16-everywhere", "'" + name + "'");
}

bool has_fast_bf16_gemm() {
  return rounds_to_bf16(fastest_gemm());
}

bool has_bf16_gemm() {
  return has_emulated_bf16();
}

std::string products_in_use() {
  return chosen_precision == ProductPrecision::exact ? "fp32 by MKL"
                                                     : fmt::format("bf16 mode: {}", name_of(chosen_backend()));
}

std::string product_backend() {
  auto text = fmt::format("fp32 by MKL; bf16 mode by {}, the fastest of", name_of(fastest_gemm()));
  const char* separator = " ";
  for (const auto& [backend, speed] : gemm_speeds()) {
    text += fmt::format("{}{} ({:.0f} GFLOP/s)", separator, name_of(backend), speed / 1e9);
    separator = ", ";
  }
  return text;
}

at::Tensor weight_operand(const at::Tensor& weight) {
  if (is_exact(weight) || !weight.is_cpu() || !rounds_to_bf16(chosen_backend())) return weight;
  return rounded_weight(weight);
}

void product_into(at::Tensor& out, const at::Tensor& a, const at::Tensor& b, double keep, double scale) {
  end_if_discarded();
  if (out.dim() == 2) return product_into_matrix(out, a, b, keep, scale);
  if (out.size(0) == 1) {
    auto matrix = out.select(0, 0);
    return product_into_matrix(matrix, a.select(0, 0), b.select(0, 0), keep, scale);
  }
  if (is_exact(out)) {
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
  if (takes_rows_alone(a, b)) return product_by_rows(a, b);
  return is_exact(a) ? at::matmul(a, b) : ChosenProduct::apply(a, b, b);
}

at::Tensor linear_product(const at::Tensor& x, const at::Tensor& weight) {
  end_if_discarded();
  if (takes_rows_alone(x, weight)) return product_by_rows(x, weight.t());
  return is_exact(x) ? at::matmul(x, weight.t()) : ChosenProduct::apply(x, weight.t(), weight_operand(weight).t());
}

}  // namespace fwl
