// The kernels of one instruction set.
#pragma once

#include <cstdint>

namespace fwl {

struct KernelTable {
  float (*dot)(const float* a, const float* b, int64_t count);
  void (*add_scaled_row)(const float* row, float factor, float* out, int64_t count);
  float (*attention_weights)(float* row, const float* extra, float scale, int64_t count);
  float (*exponentials_of_row)(float* row, float maximum, int64_t count);
  void (*attention_gradient_row)(float* p, float* s, float factor, float mean, float scale, int64_t count);
  // Of tiles: some rows of a range of columns.
  void (*raise_maxima)(const float* tile, int64_t rows, int64_t stride, const float* bias, float* maxima,
                       int64_t columns);
  void (*exponentials_of_tile)(float* tile, int64_t rows, int64_t stride, const float* bias, const float* maxima,
                               float* sums, int64_t columns);
  void (*sum_exponentials_of_tile)(const float* tile, int64_t rows, int64_t stride, const float* bias,
                                   const float* maxima, float* sums, int64_t columns);
  void (*scale_columns)(float* tile, int64_t rows, int64_t stride, const float* factors, int64_t columns);
  void (*multiply_shifted_row)(const float* p, float* q, const float* shift, int64_t columns);
  void (*add_weighted_rows)(const float* rows, int64_t count, int64_t columns, const float* factors, float* sum);
  void (*rms_norm_row)(const float* x, const float* gain, float epsilon, int64_t count, float* out);
  void (*swiglu_row)(const float* gate, const float* up, int64_t count, float* out);
  void (*squared_relu_row)(const float* z, int64_t count, float* out);
  void (*twice_relu_row)(const float* z, const float* factor, int64_t count, float* out);
  void (*affine_row)(float* x, float scale, float shift, int64_t count);
  void (*rotate_halves)(float* x, const float* cosines, const float* sines, int64_t half);
  void (*rotate_neighbours)(float* x, const float* cosines, const float* sines, int64_t half);
};

extern const KernelTable portable_kernels, avx2_kernels, avx512_kernels;

}  // namespace fwl
