#include "engine/blas.h"

#include <ATen/ATen.h>

// Column-major, as BLAS has been since Fortran; exported by the engine's library.
extern "C" void sgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n, const int* k,
                       const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                       const float* beta, float* c, const int* ldc);

namespace fwl {
namespace {

// A row-major product is the column-major product of the operands in the other order.
void gemm(char b_order, char a_order, const float* b, int64_t b_stride, const float* a, int64_t a_stride, float keep,
          float* out, int64_t out_stride, int64_t n, int64_t m, int64_t k) {
  const float one = 1;
  const auto rows = static_cast<int>(n), columns = static_cast<int>(m), inner = static_cast<int>(k),
             ldb = static_cast<int>(b_stride), lda = static_cast<int>(a_stride), ldc = static_cast<int>(out_stride);
  sgemm_(&b_order, &a_order, &rows, &columns, &inner, &one, b, &ldb, a, &lda, &keep, out, &ldc);
}

}  // namespace

at::Tensor with_contiguous_rows(const at::Tensor& tensor) {
  const bool can_be_multiplied = tensor.stride(-1) == 1 && tensor.stride(-2) >= tensor.size(-1);
  return can_be_multiplied ? tensor : tensor.clone(at::MemoryFormat::Contiguous);
}

void multiply_by_transposed(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* out,
                            int64_t out_stride, int64_t m, int64_t n, int64_t k) {
  gemm('T', 'N', b, b_stride, a, a_stride, 0, out, out_stride, n, m, k);
}

void multiply(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* out, int64_t out_stride,
              int64_t m, int64_t n, int64_t k) {
  gemm('N', 'N', b, b_stride, a, a_stride, 0, out, out_stride, n, m, k);
}

void add_transposed_product(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* out,
                            int64_t out_stride, int64_t m, int64_t n, int64_t k) {
  gemm('N', 'T', b, b_stride, a, a_stride, 1, out, out_stride, n, m, k);
}

}  // namespace fwl
