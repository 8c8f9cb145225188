// Matrix products at the chosen precision: exact, or bf16 operands with fp32 sums by the fastest GEMM of this machine.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace fwl {

// `bf16` lets fp32 products round their operands to bf16 where that is faster, `bf16_everywhere` also where it is
// slower, so that machines agree; double is always exact.
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
ProductPrecision precision_from_name(const std::string& where, const std::string& name);  // fp32, bf16, bf16-everywhere

// Which GEMM `bf16` uses, determined once by a short measurement: MKL's bf16 GEMM, or fp32 if that is faster.
bool has_fast_bf16_gemm();
bool has_bf16_gemm();           // fast or not
std::string product_backend();  // for `fwl --version` and run records

// out = scale * (a @ b) + keep * out, for matrices or batches of matrices of equal batch size. Not differentiable: for
// hand-written forward and backward passes. Transposed views cost nothing.
void product_into(at::Tensor& out, const at::Tensor& a, const at::Tensor& b, double keep = 0, double scale = 1);

// a @ b, differentiable. a: …,K   b: K,N or, with a: B,T,K, also B,K,N
at::Tensor product(const at::Tensor& a, const at::Tensor& b);

}  // namespace fwl
