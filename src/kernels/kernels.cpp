#include "kernels/kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

// One function body, compiled for each instruction set and chosen at load time.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define FWL_FOR_EACH_CPU __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FWL_FOR_EACH_CPU
#endif

namespace fwl {
namespace {

// The number of independent sums or maxima, so that the compiler can keep them in vector registers.
constexpr int vector_lanes = 16;

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
  const auto bits = std::bit_cast<int32_t>(shifted);
  return sum * std::bit_cast<float>((bits - 0x4B400000 + 127) << 23);
}

FWL_FOR_EACH_CPU float add_and_find_maximum(float* __restrict__ row, const float* __restrict__ extra, float scale,
                                            int64_t count) {
  float maxima[vector_lanes];
  for (float& maximum : maxima) maximum = -INFINITY;
  int64_t column = 0;
  for (; column + vector_lanes <= count; column += vector_lanes)
    for (int lane = 0; lane < vector_lanes; ++lane) {
      const float value = scale * (extra ? row[column + lane] + extra[column + lane] : row[column + lane]);
      row[column + lane] = value;
      maxima[lane] = maxima[lane] < value ? value : maxima[lane];
    }
  float result = -INFINITY;
  for (; column < count; ++column) {
    row[column] = scale * (extra ? row[column] + extra[column] : row[column]);
    result = std::max(result, row[column]);
  }
  for (const float maximum : maxima) result = std::max(result, maximum);
  return result;
}

// Two loops that the compiler can vectorise; the row is still cached for the second.
FWL_FOR_EACH_CPU float exponentiate_and_sum(float* row, float maximum, int64_t count) {
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
FWL_FOR_EACH_CPU void raise_maxima(const float* __restrict__ tile, int64_t rows, int64_t stride,
                                   const float* __restrict__ bias, float* __restrict__ maxima, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row) {
    const float* values = tile + row * stride;
    const float shift = bias ? bias[row] : 0.0F;
    for (int64_t column = 0; column < columns; ++column) {
      const float value = values[column] + shift;
      maxima[column] = maxima[column] < value ? value : maxima[column];
    }
  }
}

FWL_FOR_EACH_CPU void exponentiate_and_sum(float* __restrict__ tile, int64_t rows, int64_t stride,
                                           const float* __restrict__ bias, const float* __restrict__ maxima,
                                           float* __restrict__ sums, int64_t columns) {
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

FWL_FOR_EACH_CPU void scale_columns(float* __restrict__ tile, int64_t rows, int64_t stride,
                                    const float* __restrict__ factors, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) tile[row * stride + column] *= factors[column];
}

}  // namespace

float attention_weights(float* row, const float* extra, float scale, int64_t count) {
  const float maximum = add_and_find_maximum(row, extra, scale, count);
  return 1 / exponentiate_and_sum(row, maximum, count);
}

FWL_FOR_EACH_CPU void attention_gradient_row(float* p, float* s, float factor, float mean, float scale, int64_t count) {
  for (int64_t index = 0; index < count; ++index) {
    p[index] *= factor;
    s[index] = p[index] * (s[index] - mean) * scale;
  }
}

// Processes a range of columns from top to bottom. Each tile's exponentials are relative to the maximum so far, which
// is stored per tile; a second pass corrects them.
void softmax_of_columns(float* data, int64_t rows, int64_t stride, const float* bias, float* log_sum, int64_t columns) {
  constexpr int64_t tile_rows = 256;  // summed in single precision; the sums of tiles are added in double
  const auto width = static_cast<size_t>(columns);
  std::vector<float> maxima(width, -INFINITY), tile_maxima, sums(width);
  std::vector<double> totals(width, 0.0);
  for (int64_t first = 0; first < rows; first += tile_rows) {
    const int64_t count = std::min(tile_rows, rows - first);
    const float* tile_bias = bias ? bias + first : nullptr;
    const auto before = maxima;
    raise_maxima(data + first * stride, count, stride, tile_bias, maxima.data(), columns);
    std::fill(sums.begin(), sums.end(), 0.0F);
    exponentiate_and_sum(data + first * stride, count, stride, tile_bias, maxima.data(), sums.data(), columns);
    for (size_t column = 0; column < width; ++column)
      totals[column] = totals[column] * std::exp(static_cast<double>(before[column] - maxima[column])) + sums[column];
    tile_maxima.insert(tile_maxima.end(), maxima.begin(), maxima.end());
  }
  for (int64_t first = 0, offset = 0; first < rows; first += tile_rows, offset += columns) {
    for (int64_t column = 0; column < columns; ++column)
      sums[static_cast<size_t>(column)] =
          static_cast<float>(std::exp(static_cast<double>(tile_maxima[static_cast<size_t>(offset + column)] -
                                                          maxima[static_cast<size_t>(column)])) /
                             totals[static_cast<size_t>(column)]);
    scale_columns(data + first * stride, std::min(tile_rows, rows - first), stride, sums.data(), columns);
  }
  for (size_t column = 0; column < width; ++column)
    log_sum[column] = static_cast<float>(maxima[column] + std::log(totals[column]));
}

FWL_FOR_EACH_CPU void multiply_shifted_row(const float* __restrict__ p, float* __restrict__ q,
                                           const float* __restrict__ shift, int64_t columns) {
  for (int64_t column = 0; column < columns; ++column) q[column] = p[column] * (q[column] + shift[column]);
}

FWL_FOR_EACH_CPU void rms_norm_row(const float* __restrict__ x, const float* __restrict__ gain, float epsilon,
                                   int64_t count, float* __restrict__ out) {
  float sums[vector_lanes] = {};
  int64_t index = 0;
  for (; index + vector_lanes <= count; index += vector_lanes)
    for (int lane = 0; lane < vector_lanes; ++lane) sums[lane] += x[index + lane] * x[index + lane];
  float total = 0;
  for (; index < count; ++index) total += x[index] * x[index];
  for (const float sum : sums) total += sum;
  const float factor = 1 / std::sqrt(total / static_cast<float>(count) + epsilon);
  for (index = 0; index < count; ++index) out[index] = x[index] * factor * gain[index];
}

FWL_FOR_EACH_CPU void swiglu_row(const float* __restrict__ gate, const float* __restrict__ up, int64_t count,
                                 float* __restrict__ out) {
  for (int64_t index = 0; index < count; ++index) {
    // 1 / (1 + e^-g) from e^-|g|, which cannot overflow.
    const float g = gate[index], small = exp_of_non_positive(g < 0 ? g : -g);
    const float sigmoid = (g < 0 ? small : 1.0F) / (1.0F + small);
    out[index] = g * sigmoid * up[index];
  }
}

FWL_FOR_EACH_CPU void rotate_halves(float* __restrict__ x, const float* __restrict__ cosines,
                                    const float* __restrict__ sines, int64_t half) {
  for (int64_t index = 0; index < half; ++index) {
    const float first = x[index], second = x[half + index];
    x[index] = first * cosines[index] - second * sines[index];
    x[half + index] = second * cosines[index] + first * sines[index];
  }
}

FWL_FOR_EACH_CPU void rotate_neighbours(float* __restrict__ x, const float* __restrict__ cosines,
                                        const float* __restrict__ sines, int64_t half) {
  for (int64_t index = 0; index < half; ++index) {
    const float first = x[2 * index], second = x[2 * index + 1];
    x[2 * index] = first * cosines[index] - second * sines[index];
    x[2 * index + 1] = second * cosines[index] + first * sines[index];
  }
}

FWL_FOR_EACH_CPU float dot(const float* __restrict__ a, const float* __restrict__ b, int64_t count) {
  float sums[vector_lanes] = {};
  int64_t index = 0;
  for (; index + vector_lanes <= count; index += vector_lanes)
    for (int lane = 0; lane < vector_lanes; ++lane) sums[lane] += a[index + lane] * b[index + lane];
  float total = 0;
  for (; index < count; ++index) total += a[index] * b[index];
  for (const float sum : sums) total += sum;
  return total;
}

FWL_FOR_EACH_CPU void add_scaled_row(const float* __restrict__ row, float factor, float* __restrict__ out,
                                     int64_t count) {
  for (int64_t index = 0; index < count; ++index) out[index] += factor * row[index];
}

}  // namespace fwl
