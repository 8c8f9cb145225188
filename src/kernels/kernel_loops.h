// The bodies of the kernels, in plain loops that the compiler turns into vector code. Each file kernels_*.cpp compiles
// them for one instruction set. Functions of the standard library stay out: the linker could take another file's use of
// them from here.
#pragma once

#include <cstdint>

#include "kernels/kernel_table.h"

namespace fwl {
namespace {

// The number of independent sums or maxima, so that the compiler can keep them in vector registers.
constexpr int vector_lanes = 16;

inline float larger(float a, float b) {
  return a < b ? b : a;
}

// exp(x) for x <= 0 to about 2 units in the last place: 2^n * polynomial(r), with x = n ln 2 + r. Below -87 the
// result stays e^-87 (1e-38), because a second comparison would prevent vectorisation.
inline float exp_of_non_positive(float x) {
  constexpr float log2_of_e = 1.44269504F, ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
  constexpr float round_to_integer = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const float clamped = x > -87.0F ? x : -87.0F;
  const float shifted = clamped * log2_of_e + round_to_integer;
  const float n = shifted - round_to_integer;
  const float r = (clamped - n * ln2_high) - n * ln2_low;
  float sum = 1.9875691500e-4F;
  sum = sum * r + 1.3981999507e-3F;
  sum = sum * r + 8.3334519073e-3F;
  sum = sum * r + 4.1665795894e-2F;
  sum = sum * r + 1.6666665459e-1F;
  sum = sum * r + 5.0000001201e-1F;
  sum = sum * r * r + r + 1.0F;
  const auto bits = __builtin_bit_cast(int32_t, shifted);
  return sum * __builtin_bit_cast(float, (bits - 0x4B400000 + 127) << 23);
}

float add_and_find_maximum(float* __restrict__ row, const float* __restrict__ extra, float scale, int64_t count) {
  float maxima[vector_lanes];
  for (float& maximum : maxima) maximum = -__builtin_inff();
  int64_t column = 0;
  for (; column + vector_lanes <= count; column += vector_lanes)
    for (int lane = 0; lane < vector_lanes; ++lane) {
      const float value = scale * (extra ? row[column + lane] + extra[column + lane] : row[column + lane]);
      row[column + lane] = value;
      maxima[lane] = maxima[lane] < value ? value : maxima[lane];
    }
  float result = -__builtin_inff();
  for (; column < count; ++column) {
    row[column] = scale * (extra ? row[column] + extra[column] : row[column]);
    result = larger(result, row[column]);
  }
  for (const float maximum : maxima) result = larger(result, maximum);
  return result;
}

// Two loops that the compiler can vectorise; the row is still cached for the second.
float exponentials_of_row(float* row, float maximum, int64_t count) {
  for (int64_t column = 0; column < count; ++column) row[column] = exp_of_non_positive(row[column] - maximum);
  float sums[vector_lanes] = {};
  int64_t column = 0;
  for (; column + vector_lanes <= count; column += vector_lanes)
    for (int lane = 0; lane < vector_lanes; ++lane) sums[lane] += row[column + lane];
  float total = 0;
  for (; column < count; ++column) total += row[column];
  for (const float sum : sums) total += sum;
  return total;
}

// The kernels below work on tiles: some rows of a range of columns.
void raise_maxima(const float* __restrict__ tile, int64_t rows, int64_t stride, const float* __restrict__ bias,
                  float* __restrict__ maxima, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row) {
    const float* values = tile + row * stride;
    const float shift = bias ? bias[row] : 0.0F;
    for (int64_t column = 0; column < columns; ++column) {
      const float value = values[column] + shift;
      maxima[column] = maxima[column] < value ? value : maxima[column];
    }
  }
}

void exponentials_of_tile(float* __restrict__ tile, int64_t rows, int64_t stride, const float* __restrict__ bias,
                          const float* __restrict__ maxima, float* __restrict__ sums, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row) {
    float* values = tile + row * stride;
    const float shift = bias ? bias[row] : 0.0F;
    for (int64_t column = 0; column < columns; ++column) {
      const float value = exp_of_non_positive(values[column] + shift - maxima[column]);
      values[column] = value;
      sums[column] += value;
    }
  }
}

// The sums alone, for those who do not need the exponentials.
void sum_exponentials_of_tile(const float* __restrict__ tile, int64_t rows, int64_t stride,
                              const float* __restrict__ bias, const float* __restrict__ maxima,
                              float* __restrict__ sums, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row) {
    const float* values = tile + row * stride;
    const float shift = bias ? bias[row] : 0.0F;
    for (int64_t column = 0; column < columns; ++column)
      sums[column] += exp_of_non_positive(values[column] + shift - maxima[column]);
  }
}

void scale_columns(float* __restrict__ tile, int64_t rows, int64_t stride, const float* __restrict__ factors,
                   int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) tile[row * stride + column] *= factors[column];
}

float attention_weights(float* row, const float* extra, float scale, int64_t count) {
  const float maximum = add_and_find_maximum(row, extra, scale, count);
  return 1 / exponentials_of_row(row, maximum, count);
}

void attention_gradient_row(float* p, float* s, float factor, float mean, float scale, int64_t count) {
  for (int64_t index = 0; index < count; ++index) {
    p[index] *= factor;
    s[index] = p[index] * (s[index] - mean) * scale;
  }
}

void multiply_shifted_row(const float* __restrict__ p, float* __restrict__ q, const float* __restrict__ shift,
                          int64_t columns) {
  for (int64_t column = 0; column < columns; ++column) q[column] = p[column] * (q[column] + shift[column]);
}

void rms_norm_row(const float* __restrict__ x, const float* __restrict__ gain, float epsilon, int64_t count,
                  float* __restrict__ out) {
  float sums[vector_lanes] = {};
  int64_t index = 0;
  for (; index + vector_lanes <= count; index += vector_lanes)
    for (int lane = 0; lane < vector_lanes; ++lane) sums[lane] += x[index + lane] * x[index + lane];
  float total = 0;
  for (; index < count; ++index) total += x[index] * x[index];
  for (const float sum : sums) total += sum;
  const float factor = 1 / __builtin_sqrtf(total / static_cast<float>(count) + epsilon);
  for (index = 0; index < count; ++index) out[index] = x[index] * factor * gain[index];
}

void swiglu_row(const float* __restrict__ gate, const float* __restrict__ up, int64_t count, float* __restrict__ out) {
  for (int64_t index = 0; index < count; ++index) {
    // 1 / (1 + e^-g) from e^-|g|, which cannot overflow.
    const float g = gate[index], small = exp_of_non_positive(g < 0 ? g : -g);
    const float sigmoid = (g < 0 ? small : 1.0F) / (1.0F + small);
    out[index] = g * sigmoid * up[index];
  }
}

void squared_relu_row(const float* __restrict__ z, int64_t count, float* __restrict__ out) {
  for (int64_t index = 0; index < count; ++index) {
    const float positive = larger(z[index], 0.0F);
    out[index] = positive * positive;
  }
}

// `out` may be `factor`.
void twice_relu_row(const float* z, const float* factor, int64_t count, float* out) {
  for (int64_t index = 0; index < count; ++index) out[index] = factor[index] * 2.0F * larger(z[index], 0.0F);
}

void affine_row(float* x, float scale, float shift, int64_t count) {
  for (int64_t index = 0; index < count; ++index) x[index] = x[index] * scale + shift;
}

void rotate_halves(float* __restrict__ x, const float* __restrict__ cosines, const float* __restrict__ sines,
                   int64_t half) {
  for (int64_t index = 0; index < half; ++index) {
    const float first = x[index], second = x[half + index];
    x[index] = first * cosines[index] - second * sines[index];
    x[half + index] = second * cosines[index] + first * sines[index];
  }
}

void rotate_neighbours(float* __restrict__ x, const float* __restrict__ cosines, const float* __restrict__ sines,
                       int64_t half) {
  for (int64_t index = 0; index < half; ++index) {
    const float first = x[2 * index], second = x[2 * index + 1];
    x[2 * index] = first * cosines[index] - second * sines[index];
    x[2 * index + 1] = second * cosines[index] + first * sines[index];
  }
}

float dot(const float* __restrict__ a, const float* __restrict__ b, int64_t count) {
  float sums[vector_lanes] = {};
  int64_t index = 0;
  for (; index + vector_lanes <= count; index += vector_lanes)
    for (int lane = 0; lane < vector_lanes; ++lane) sums[lane] += a[index + lane] * b[index + lane];
  float total = 0;
  for (; index < count; ++index) total += a[index] * b[index];
  for (const float sum : sums) total += sum;
  return total;
}

void add_scaled_row(const float* __restrict__ row, float factor, float* __restrict__ out, int64_t count) {
  for (int64_t index = 0; index < count; ++index) out[index] += factor * row[index];
}

// Four rows at a time, so that the sum is read and written less often.
void add_weighted_rows(const float* __restrict__ rows, int64_t count, int64_t columns,
                       const float* __restrict__ factors, float* __restrict__ sum) {
  int64_t row = 0;
  for (; row + 4 <= count; row += 4) {
    const float *first = rows + row * columns, *second = first + columns, *third = second + columns,
                *fourth = third + columns;
    for (int64_t column = 0; column < columns; ++column)
      sum[column] += (factors[row] * first[column] + factors[row + 1] * second[column]) +
                     (factors[row + 2] * third[column] + factors[row + 3] * fourth[column]);
  }
  for (; row < count; ++row)
    for (int64_t column = 0; column < columns; ++column) sum[column] += factors[row] * rows[row * columns + column];
}

constexpr KernelTable compiled_kernels = {dot,
                                          add_scaled_row,
                                          attention_weights,
                                          exponentials_of_row,
                                          attention_gradient_row,
                                          raise_maxima,
                                          exponentials_of_tile,
                                          sum_exponentials_of_tile,
                                          scale_columns,
                                          multiply_shifted_row,
                                          add_weighted_rows,
                                          rms_norm_row,
                                          swiglu_row,
                                          squared_relu_row,
                                          twice_relu_row,
                                          affine_row,
                                          rotate_halves,
                                          rotate_neighbours};

}  // namespace
}  // namespace fwl
