#include "engine/softmax_columns.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/vector_math.h"

namespace fwl {
namespace {

// The kernels below work on a tile: some rows of a range of columns.
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

FWL_FOR_EACH_CPU void multiply_shifted(const float* __restrict__ p, float* __restrict__ q,
                                       const float* __restrict__ shift, int64_t columns) {
  for (int64_t column = 0; column < columns; ++column) q[column] = p[column] * (q[column] + shift[column]);
}

// One range of columns from top to bottom: every tile's exponentials are relative to the greatest logit seen so far,
// which is remembered per tile, and put right in a second pass.
void softmax_of_columns(float* data, int64_t rows, int64_t stride, const float* bias, float* log_sum, int64_t columns) {
  constexpr int64_t tile_rows = 256;  // of single-precision sums; the tiles' sums are added up in double
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

bool is_fast_case(const at::Tensor& block) {
  return block.is_cpu() && block.scalar_type() == at::kFloat;
}

}  // namespace

at::Tensor softmax_columns_(at::Tensor& logits, const at::Tensor& bias) {
  if (!is_fast_case(logits)) {
    if (bias.defined()) logits.add_(bias.unsqueeze(1));
    auto log_sum = at::logsumexp(logits, 0);
    logits.sub_(log_sum).exp_();
    return log_sum;
  }
  const int64_t rows = logits.size(0), columns = logits.size(1);
  auto log_sum = at::empty({columns}, logits.options());
  const auto biases = bias.defined() ? bias.contiguous() : bias;
  float* data = logits.mutable_data_ptr<float>();
  float* results = log_sum.mutable_data_ptr<float>();
  const float* bias_data = biases.defined() ? biases.const_data_ptr<float>() : nullptr;
  constexpr int64_t lanes = 16;  // ranges of columns start at whole cache lines
  const int64_t groups = (columns + lanes - 1) / lanes;
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, rows * lanes));
  at::parallel_for(0, groups, grain, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * lanes, last = std::min(end * lanes, columns);
    softmax_of_columns(data + first, rows, columns, bias_data, results + first, last - first);
  });
  return log_sum;
}

void multiply_shifted_columns_(at::Tensor& q, const at::Tensor& probabilities, const at::Tensor& shift) {
  if (!is_fast_case(q)) {
    q.add_(shift).mul_(probabilities);
    return;
  }
  const int64_t rows = q.size(0), columns = q.size(1);
  const auto shifts = shift.contiguous();
  const float* p = probabilities.const_data_ptr<float>();
  const float* shift_data = shifts.const_data_ptr<float>();
  float* data = q.mutable_data_ptr<float>();
  at::parallel_for(0, rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, columns)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t row = begin; row < end; ++row)
                       multiply_shifted(p + row * columns, data + row * columns, shift_data, columns);
                   });
}

}  // namespace fwl
