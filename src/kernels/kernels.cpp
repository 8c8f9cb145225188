#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/instruction_set.h"
#include "kernels/kernel_table.h"

namespace fwl {
namespace {

const KernelTable& kernels() {
  switch (instruction_set()) {
    case InstructionSet::portable:
      return portable_kernels;
    case InstructionSet::avx2:
      return avx2_kernels;
    case InstructionSet::avx512:
    case InstructionSet::avx512_vnni:
      return avx512_kernels;
  }
  return portable_kernels;
}

constexpr int64_t tile_rows = 256;  // summed in single precision; the sums of tiles are added in double

}  // namespace

float dot(const float* a, const float* b, int64_t count) {
  return kernels().dot(a, b, count);
}

float attention_weights(float* row, const float* extra, float scale, int64_t count) {
  return kernels().attention_weights(row, extra, scale, count);
}

float exponentials_of_row(float* row, float maximum, int64_t count) {
  return kernels().exponentials_of_row(row, maximum, count);
}

void attention_gradient_row(float* p, float* s, float factor, float mean, float scale, int64_t count) {
  kernels().attention_gradient_row(p, s, factor, mean, scale, count);
}

// Processes a range of columns from top to bottom. Each tile's exponentials are relative to the maximum so far, which
// is stored per tile; a second pass corrects them.
void softmax_of_columns(float* data, int64_t rows, int64_t stride, const float* bias, float* log_sum, int64_t columns) {
  const auto width = static_cast<size_t>(columns);
  std::vector<float> maxima(width, -INFINITY), tile_maxima, sums(width);
  std::vector<double> totals(width, 0.0);
  for (int64_t first = 0; first < rows; first += tile_rows) {
    const int64_t count = std::min(tile_rows, rows - first);
    const float* tile_bias = bias ? bias + first : nullptr;
    const auto before = maxima;
    kernels().raise_maxima(data + first * stride, count, stride, tile_bias, maxima.data(), columns);
    std::fill(sums.begin(), sums.end(), 0.0F);
    kernels().exponentials_of_tile(data + first * stride, count, stride, tile_bias, maxima.data(), sums.data(),
                                   columns);
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
    kernels().scale_columns(data + first * stride, std::min(tile_rows, rows - first), stride, sums.data(), columns);
  }
  for (size_t column = 0; column < width; ++column)
    log_sum[column] = static_cast<float>(maxima[column] + std::log(totals[column]));
}

namespace {

// Raises the maxima by a tile, and multiplies the totals of earlier tiles by `factors`, which may be null.
void raise(const float* tile, int64_t rows, int64_t stride, const float* bias, float* maxima, double* totals,
           float* factors, int64_t columns) {
  const std::vector<float> before(maxima, maxima + columns);
  kernels().raise_maxima(tile, rows, stride, bias, maxima, columns);
  for (int64_t column = 0; column < columns; ++column) {
    const double factor = std::exp(static_cast<double>(before[static_cast<size_t>(column)] - maxima[column]));
    totals[column] *= factor;
    if (factors) factors[column] = static_cast<float>(factor);
  }
}

}  // namespace

void sum_exponentials_of_tile(const float* data, int64_t rows, int64_t stride, const float* bias, float* maxima,
                              double* totals, int64_t columns) {
  std::vector<float> sums(static_cast<size_t>(columns));
  for (int64_t first = 0; first < rows; first += tile_rows) {
    const int64_t count = std::min(tile_rows, rows - first);
    const float *tile = data + first * stride, *tile_bias = bias ? bias + first : nullptr;
    raise(tile, count, stride, tile_bias, maxima, totals, nullptr, columns);
    std::ranges::fill(sums, 0.0F);
    kernels().sum_exponentials_of_tile(tile, count, stride, tile_bias, maxima, sums.data(), columns);
    for (int64_t column = 0; column < columns; ++column) totals[column] += sums[static_cast<size_t>(column)];
  }
}

void exponentials_of_tile(float* tile, int64_t rows, int64_t stride, const float* bias, float* maxima, double* totals,
                          float* factors, int64_t columns) {
  raise(tile, rows, stride, bias, maxima, totals, factors, columns);
  std::vector<float> sums(static_cast<size_t>(columns));
  for (int64_t first = 0; first < rows; first += tile_rows) {
    std::ranges::fill(sums, 0.0F);
    kernels().exponentials_of_tile(tile + first * stride, std::min(tile_rows, rows - first), stride,
                                   bias ? bias + first : nullptr, maxima, sums.data(), columns);
    for (int64_t column = 0; column < columns; ++column) totals[column] += sums[static_cast<size_t>(column)];
  }
}

void multiply_shifted_row(const float* p, float* q, const float* shift, int64_t columns) {
  kernels().multiply_shifted_row(p, q, shift, columns);
}

void add_weighted_rows(const float* rows, int64_t count, int64_t columns, const float* factors, float* sum) {
  kernels().add_weighted_rows(rows, count, columns, factors, sum);
}

void rms_norm_row(const float* x, const float* gain, float epsilon, int64_t count, float* out) {
  kernels().rms_norm_row(x, gain, epsilon, count, out);
}

void swiglu_row(const float* gate, const float* up, int64_t count, float* out) {
  kernels().swiglu_row(gate, up, count, out);
}

void squared_relu_row(const float* z, int64_t count, float* out) {
  kernels().squared_relu_row(z, count, out);
}

void twice_relu_row(const float* z, const float* factor, int64_t count, float* out) {
  kernels().twice_relu_row(z, factor, count, out);
}

void affine_row(float* x, float scale, float shift, int64_t count) {
  kernels().affine_row(x, scale, shift, count);
}

void rotate_halves(float* x, const float* cosines, const float* sines, int64_t half) {
  kernels().rotate_halves(x, cosines, sines, half);
}

void rotate_neighbours(float* x, const float* cosines, const float* sines, int64_t half) {
  kernels().rotate_neighbours(x, cosines, sines, half);
}

void add_scaled_row(const float* row, float factor, float* out, int64_t count) {
  kernels().add_scaled_row(row, factor, out, count);
}

}  // namespace fwl
