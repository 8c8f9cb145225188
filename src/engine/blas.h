// BLAS products on plain pointers, for kernels that multiply small blocks inside their own threads.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace fwl {

// A tensor as the functions below need it: the values of a row are contiguous, and no two rows (the second-to-last
// dimension) overlap, as those of an expanded tensor do.
at::Tensor with_contiguous_rows(const at::Tensor& tensor);

// Row-major: out = a @ b^T.   a: m,k   b: n,k   out: m,n; the strides are those between rows.
void multiply_by_transposed(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* out,
                            int64_t out_stride, int64_t m, int64_t n, int64_t k);

// Row-major: out = a @ b.   a: m,k   b: k,n   out: m,n
void multiply(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* out, int64_t out_stride,
              int64_t m, int64_t n, int64_t k);

// Row-major: out += a^T @ b.   a: k,m   b: k,n   out: m,n
void add_transposed_product(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* out,
                            int64_t out_stride, int64_t m, int64_t n, int64_t k);

}  // namespace fwl
