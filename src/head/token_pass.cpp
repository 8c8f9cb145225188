#include "head/token_pass.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/torch.h"
#include "kernels/kernels.h"

namespace fwl {
namespace {

// Rows that are dequantised at once: they stay in the first cache for their two products and their sum.
constexpr int64_t tile_rows = 16;

// sum_r e^(logit r - maximum) * row r, relative to the largest logit so far.
struct WeightedRows {
  float maximum = -INFINITY;
  double total = 0;
  std::vector<float> sum;

  explicit WeightedRows(int64_t columns) : sum(static_cast<size_t>(columns)) {}

  // Overwrites the logits.
  void add(const float* rows, int64_t count, float* logits) {
    raise(*std::max_element(logits, logits + count));
    total += exponentials_of_row(logits, maximum, count);
    add_weighted_rows(rows, count, static_cast<int64_t>(sum.size()), logits, sum.data());
  }

  void add(const WeightedRows& other) {
    if (other.total == 0) return;
    raise(other.maximum);
    const auto factor = std::exp(static_cast<double>(other.maximum - maximum));
    total += other.total * factor;
    for (size_t column = 0; column < sum.size(); ++column)
      sum[column] += other.sum[column] * static_cast<float>(factor);
  }

  void raise(float logit) {
    if (logit <= maximum) return;
    const double factor = std::exp(static_cast<double>(maximum - logit));
    total *= factor;
    for (float& value : sum) value *= static_cast<float>(factor);
    maximum = logit;
  }
};

// The part of the pass that one thread does.
void pass_over(const QuantizedRows& rows, const float* bias, const float* vectors, float* logits,
               WeightedRows& weighted) {
  std::vector<float> dense(static_cast<size_t>(tile_rows * rows.columns)), both(2 * tile_rows);
  for (int64_t first = 0; first < rows.count; first += tile_rows) {
    const int64_t count = std::min(tile_rows, rows.count - first);
    dequantize_rows(rows.part(first, count), dense.data());
    const QuantizedRows tile{GgufType::F32, reinterpret_cast<const uint8_t*>(dense.data()), count,
                             rows.columns * static_cast<int64_t>(sizeof(float)), rows.columns};
    dot_rows(tile, vectors, 2, both.data(), tile_rows);
    for (int64_t row = 0; bias && row < count; ++row)
      for (int64_t vector = 0; vector < 2; ++vector)
        both[static_cast<size_t>(vector * tile_rows + row)] += bias[first + row];
    std::copy_n(both.data(), count, logits + first);
    weighted.add(dense.data(), count, both.data() + tile_rows);
  }
}

}  // namespace

TokenPass token_pass_over(const QuantizedRows& rows, const at::Tensor& bias, const at::Tensor& hidden,
                          const at::Tensor& learning) {
  const auto vectors = at::cat({hidden, learning});  // 2,D
  auto logits = at::empty({1, rows.count}, vectors.options());
  const auto biases = bias.defined() ? bias.contiguous() : bias;
  const float* bias_data = biases.defined() ? biases.const_data_ptr<float>() : nullptr;
  const float* vector_data = vectors.const_data_ptr<float>();
  float* logit_data = logits.mutable_data_ptr<float>();
  // As many parts as threads, so that the result depends on their number only.
  const int64_t parts = std::min<int64_t>(at::get_num_threads(), rows.count);
  std::vector<WeightedRows> weighted(static_cast<size_t>(parts), WeightedRows(rows.columns));
  at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t first = part * rows.count / parts, past = (part + 1) * rows.count / parts;
      pass_over(rows.part(first, past - first), bias_data ? bias_data + first : nullptr, vector_data,
                logit_data + first, weighted[static_cast<size_t>(part)]);
    }
  });
  for (size_t part = 1; part < weighted.size(); ++part) weighted[0].add(weighted[part]);
  auto mean = at::empty({1, rows.columns}, vectors.options());
  std::ranges::transform(weighted[0].sum, mean.mutable_data_ptr<float>(),
                         [&](float value) { return value / static_cast<float>(weighted[0].total); });
  return {logits, mean};
}

}  // namespace fwl
