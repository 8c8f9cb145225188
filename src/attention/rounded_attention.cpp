#include "attention/rounded_attention.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/torch.h"
#include "kernels/kernels.h"
#include "kernels/quantized_rows.h"

namespace fwl {
namespace {

constexpr int64_t tile_rows = 64;  // values that are widened at once

// Rows [first, past) of a head of the cache: B,key heads,K,d.
QuantizedRows rows_of(const at::Tensor& cache, int64_t b, int64_t head, int64_t first, int64_t past) {
  const auto* start = static_cast<const uint8_t*>(cache.const_data_ptr());
  const int64_t offset = b * cache.stride(0) + head * cache.stride(1) + first * cache.stride(2);
  return {GgufType::BF16, start + 2 * offset, past - first, 2 * cache.stride(2), cache.size(3)};
}

// The queries of one position that share a key head; a row per query head.
struct Group {
  std::vector<float> queries, weights, sums, factors, values;

  void attend(const QuantizedRows& keys, const QuantizedRows& rows, int64_t heads) {
    const int64_t width = keys.columns, seen = keys.count;
    weights.resize(static_cast<size_t>(heads * seen));
    factors.resize(static_cast<size_t>(heads));
    values.resize(static_cast<size_t>(tile_rows * width));
    sums.assign(static_cast<size_t>(heads * width), 0.0F);
    dot_rows(keys, queries.data(), heads, weights.data(), seen);
    const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(width)));
    for (int64_t head = 0; head < heads; ++head)
      factors[static_cast<size_t>(head)] = attention_weights(weights.data() + head * seen, nullptr, scale, seen);
    for (int64_t first = 0; first < seen; first += tile_rows) {
      const int64_t count = std::min(tile_rows, seen - first);
      dequantize_rows(rows.part(first, count), values.data());
      for (int64_t head = 0; head < heads; ++head)
        add_weighted_rows(values.data(), count, width, weights.data() + head * seen + first,
                          sums.data() + head * width);
    }
  }
};

}  // namespace

at::Tensor rounded_attention(const at::Tensor& given, const at::Tensor& keys, const at::Tensor& values,
                             const AttentionShape& shape, VisibleKeys visible) {
  const auto queries = given.transpose(1, 2).contiguous();  // B,T,heads,d
  auto out = at::empty({shape.batch, shape.tokens, shape.heads * shape.width}, queries.options());
  const int64_t heads = shape.heads / shape.key_heads, numbers = heads * shape.width;
  const float* query_data = queries.const_data_ptr<float>();
  float* results = out.mutable_data_ptr<float>();
  const int64_t tasks = shape.batch * shape.tokens * shape.key_heads;
  const int64_t grain = shape.keys * shape.heads < 1024 ? tasks : 1;
  at::parallel_for(0, tasks, grain, [&](int64_t begin, int64_t end) {
    Group group;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t head = task % shape.key_heads, t = task / shape.key_heads % shape.tokens,
                    b = task / shape.key_heads / shape.tokens;
      const int64_t first = shape.first_key(t, visible), past = shape.past_key(t), offset = task * numbers;
      group.queries.assign(query_data + offset, query_data + offset + numbers);
      group.attend(rows_of(keys, b, head, first, past), rows_of(values, b, head, first, past), heads);
      for (int64_t index = 0; index < numbers; ++index)
        results[offset + index] =
            group.sums[static_cast<size_t>(index)] * group.factors[static_cast<size_t>(index / shape.width)];
    }
  });
  return out;
}

}  // namespace fwl
