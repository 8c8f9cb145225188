// Matrix products at the chosen precision: exact, or bf16 operands with fp32 sums by the fastest GEMM of this machine.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace fwl {

// `exact` multiplies in fp32 with MKL, so that results do not depend on a measurement. `bf16` uses the fastest product
// of this machine (gemm_backend.h), which may round its operands to bf16; `bf16_everywhere` rounds also where that is
// slower. Double is always exact.
enum class ProductPrecision { exact, bf16, bf16_everywhere };

// The precision of this thread's products while the scope lives; scopes nest. Threads that are started inside do not
// inherit it: open a scope of `product_precision()` in each.
class PrecisionScope {
 public:
  explicit PrecisionScope(ProductPrecision precision);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  ProductPrecision before_;
};
ProductPrecision product_precision();                    // of this thread; exact unless it was set
void set_product_precision(ProductPrecision precision);  // for the rest of this thread, or of the scope it is in
// Names: auto, which is exact until bf16 is asked for, fp32, bf16, bf16-everywhere.
ProductPrecision precision_from_name(const std::string& where, const std::string& name);

bool has_fast_bf16_gemm();      // `bf16` rounds here
bool has_bf16_gemm();           // fast or not
std::string product_backend();  // what was measured and chosen, for `fwl --version`
std::string products_in_use();  // by this thread, for run records and results

// A weight as the products of this thread's precision use it: the same, or its bf16 copy, which is made once and kept
// (rounded_weights.h). Takes part in product_into; has no gradient.
at::Tensor weight_operand(const at::Tensor& weight);

// out = scale * (a @ b) + keep * out, for matrices or batches of matrices of equal batch size. Not differentiable: for
// hand-written forward and backward passes. Transposed views cost nothing. Operands may be in bf16 already.
void product_into(at::Tensor& out, const at::Tensor& a, const at::Tensor& b, double keep = 0, double scale = 1);

// a @ b, differentiable. a: …,K   b: K,N or, with a: B,T,K, also B,K,N
at::Tensor product(const at::Tensor& a, const at::Tensor& b);

// x @ weight^T, differentiable, for a weight that many products use.   x: …,K   weight: N,K
at::Tensor linear_product(const at::Tensor& x, const at::Tensor& weight);

}  // namespace fwl
