#include "engine/attention.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <cmath>
#include <vector>

#include "engine/blas.h"
#include "engine/kernels.h"

namespace fwl {
namespace {

struct Shape {
  int64_t batch, heads, key_heads, tokens, keys, width, first_position;

  Shape(const at::Tensor& queries, const at::Tensor& key_tensor, int64_t first)
      : batch(queries.size(0)),
        heads(queries.size(1)),
        key_heads(key_tensor.size(1)),
        tokens(queries.size(2)),
        keys(key_tensor.size(2)),
        width(queries.size(3)),
        first_position(first) {}

  int64_t position(int64_t query) const { return first_position + keys - tokens + query; }
  // The first key that a query sees, and the one past its own.
  int64_t first_key(int64_t query, VisibleKeys visible) const {
    return std::max<int64_t>(0, visible.first(position(query)) - first_position);
  }
  int64_t past_key(int64_t query) const { return keys - tokens + query + 1; }
};

// A whole text, of which every position sees all before it.
bool is_plain(const Shape& shape, VisibleKeys visible) {
  return shape.tokens == shape.keys && visible.first(shape.position(shape.tokens - 1)) == 0;
}

// One block of queries of one head: scores by a product, softmax row by row, values by a product.
void attend(const float* queries, int64_t query_stride, const float* keys, int64_t key_stride, const float* values,
            int64_t value_stride, float* out, int64_t out_stride, int64_t first, int64_t count, const Shape& shape,
            VisibleKeys visible, std::vector<float>& scores) {
  const int64_t low = shape.first_key(first, visible), high = shape.past_key(first + count - 1), seen = high - low;
  scores.resize(static_cast<size_t>(count * seen));
  std::vector<float> factors(static_cast<size_t>(count));
  multiply_by_transposed(queries + first * query_stride, query_stride, keys + low * key_stride, key_stride,
                         scores.data(), seen, count, seen, shape.width);
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.width)));
  for (int64_t row = 0; row < count; ++row) {
    const int64_t begin = shape.first_key(first + row, visible) - low, end = shape.past_key(first + row) - low;
    float* weights = scores.data() + row * seen;
    std::fill(weights, weights + begin, 0.0F);
    std::fill(weights + end, weights + seen, 0.0F);
    factors[static_cast<size_t>(row)] = attention_weights(weights + begin, nullptr, scale, end - begin);
  }
  multiply(scores.data(), seen, values + low * value_stride, value_stride, out + first * out_stride, out_stride, count,
           shape.width, seen);
  for (int64_t row = 0; row < count; ++row)
    for (int64_t column = 0; column < shape.width; ++column)
      out[(first + row) * out_stride + column] *= factors[static_cast<size_t>(row)];
}

at::Tensor attention_in_blocks(const at::Tensor& given_queries, const at::Tensor& given_keys,
                               const at::Tensor& given_values, const Shape& shape, VisibleKeys visible) {
  const auto queries = with_contiguous_rows(given_queries), keys = with_contiguous_rows(given_keys),
             values = with_contiguous_rows(given_values);
  auto out = at::empty({shape.batch, shape.tokens, shape.heads * shape.width}, queries.options());
  constexpr int64_t block_queries = 64;
  const int64_t blocks = (shape.tokens + block_queries - 1) / block_queries, tasks = shape.batch * shape.heads * blocks;
  const float *query_data = queries.const_data_ptr<float>(), *key_data = keys.const_data_ptr<float>(),
              *value_data = values.const_data_ptr<float>();
  float* out_data = out.mutable_data_ptr<float>();
  const int64_t grain = shape.tokens * shape.keys < 4096 ? tasks : 1;
  at::parallel_for(0, tasks, grain, [&](int64_t begin, int64_t end) {
    std::vector<float> scores;
    for (int64_t task = begin; task < end; ++task) {
      // Late blocks see more keys: heads change fastest, so that every thread gets early and late ones.
      const int64_t head = task % shape.heads, block = task / shape.heads % blocks, b = task / shape.heads / blocks;
      const int64_t key_head = head / (shape.heads / shape.key_heads);
      const int64_t spread = block % 2 == 0 ? block / 2 : blocks - 1 - block / 2;
      const int64_t first = spread * block_queries, count = std::min(block_queries, shape.tokens - first);
      attend(query_data + b * queries.stride(0) + head * queries.stride(1), queries.stride(2),
             key_data + b * keys.stride(0) + key_head * keys.stride(1), keys.stride(2),
             value_data + b * values.stride(0) + key_head * values.stride(1), values.stride(2),
             out_data + b * out.stride(0) + head * shape.width, out.stride(1), first, count, shape, visible, scores);
    }
  });
  return out;
}

// True where a query must not look.   count,high - low
at::Tensor hidden_keys(const Shape& shape, VisibleKeys visible, int64_t first, int64_t count, int64_t low, int64_t high,
                       const at::Tensor& like) {
  std::vector<int64_t> begins, ends;
  for (int64_t row = first; row < first + count; ++row) {
    begins.push_back(shape.first_key(row, visible));
    ends.push_back(shape.past_key(row));
  }
  const auto keys = at::arange(low, high, at::kLong);
  const auto column = [](const std::vector<int64_t>& numbers) { return at::tensor(numbers, at::kLong).unsqueeze(1); };
  return keys.lt(column(begins)).logical_or_(keys.ge(column(ends))).to(like.device());
}

at::Tensor differentiable_attention(const at::Tensor& queries, const at::Tensor& given_keys,
                                    const at::Tensor& given_values, const Shape& shape, VisibleKeys visible,
                                    double dropout) {
  const int64_t group = shape.heads / shape.key_heads;
  const auto keys = group == 1 ? given_keys : given_keys.repeat_interleave(group, 1);
  const auto values = group == 1 ? given_values : given_values.repeat_interleave(group, 1);
  const auto flat = [&](const at::Tensor& out) {
    return out.transpose(1, 2).reshape({shape.batch, out.size(2), shape.heads * shape.width});
  };
  if (is_plain(shape, visible) && dropout == 0)
    return flat(at::scaled_dot_product_attention(queries, keys, values, {}, 0, true));
  constexpr int64_t block_queries = 128;
  const double scale = 1 / std::sqrt(static_cast<double>(shape.width));
  std::vector<at::Tensor> parts;
  for (int64_t first = 0; first < shape.tokens; first += block_queries) {
    const int64_t count = std::min(block_queries, shape.tokens - first);
    const int64_t low = shape.first_key(first, visible), high = shape.past_key(first + count - 1);
    const auto mask = hidden_keys(shape, visible, first, count, low, high, queries);
    const auto scores = at::matmul(queries.narrow(2, first, count) * scale,
                                   keys.narrow(2, low, high - low).transpose(2, 3));  // B,heads,count,seen
    auto weights = scores.masked_fill(mask, -INFINITY).softmax(-1);                   // B,heads,count,seen
    if (dropout > 0) weights = at::dropout(weights, dropout, true);
    parts.push_back(at::matmul(weights, values.narrow(2, low, high - low)));  // B,heads,count,d
  }
  return flat(at::cat(parts, 2));
}

}  // namespace

at::Tensor causal_attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                            int64_t first_position, VisibleKeys visible, double dropout) {
  const Shape shape(queries, keys, first_position);
  const bool wants_gradient =
      at::GradMode::is_enabled() && (queries.requires_grad() || keys.requires_grad() || values.requires_grad());
  const bool has_kernel = queries.is_cpu() && queries.scalar_type() == at::kFloat;
  constexpr int64_t long_text = 256;  // from here on the engine's own fused attention is the faster one
  if (wants_gradient || !has_kernel || (is_plain(shape, visible) && shape.tokens >= long_text))
    return differentiable_attention(queries, keys, values, shape, visible, wants_gradient ? dropout : 0);
  return attention_in_blocks(queries, keys, values, shape, visible);
}

}  // namespace fwl
