#include "attention/attention.h"

#include <cmath>
#include <vector>

#include "attention/block_attention.h"
#include "attention/rounded_attention.h"
#include "engine/torch.h"
#include "support/discardable.h"

namespace fwl {
namespace {

// A whole text in which every position sees all earlier ones.
bool is_plain(const AttentionShape& shape, VisibleKeys visible) {
  return shape.tokens == shape.keys && visible.first(shape.position(shape.tokens - 1)) == 0;
}

// The attention mask: true for keys that a query must not see.   count,high - low
at::Tensor hidden_keys(const AttentionShape& shape, VisibleKeys visible, int64_t first, int64_t count, int64_t low,
                       int64_t high, const at::Tensor& like) {
  std::vector<int64_t> begins, ends;
  for (int64_t row = first; row < first + count; ++row) {
    begins.push_back(shape.first_key(row, visible));
    ends.push_back(shape.past_key(row));
  }
  const auto keys = at::arange(low, high, at::kLong);
  const auto column = [](const std::vector<int64_t>& numbers) { return at::tensor(numbers, at::kLong).unsqueeze(1); };
  return keys.lt(column(begins)).logical_or_(keys.ge(column(ends))).to(like.device());
}

constexpr int64_t long_text = 256;  // tokens from which LibTorch's fused attention is faster

// B,key heads,K,d -> B,heads,K,d
at::Tensor per_query_head(const at::Tensor& x, const AttentionShape& shape) {
  const int64_t group = shape.heads / shape.key_heads;
  return group == 1 ? x : x.repeat_interleave(group, 1);
}

at::Tensor heads_side_by_side(const at::Tensor& out) {  // B,heads,T,d -> B,T,heads * d
  return out.transpose(1, 2).flatten(2);
}

}  // namespace

at::Tensor composed_attention(const at::Tensor& queries, const at::Tensor& given_keys, const at::Tensor& given_values,
                              const AttentionShape& shape, VisibleKeys visible, double dropout) {
  const auto keys = per_query_head(given_keys, shape), values = per_query_head(given_values, shape);
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
  return heads_side_by_side(at::cat(parts, 2));
}

at::Tensor causal_attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                            int64_t first_position, VisibleKeys visible, double dropout) {
  end_if_discarded();
  const AttentionShape shape(queries, keys, first_position);
  const bool wants_gradient =
      at::GradMode::is_enabled() && (queries.requires_grad() || keys.requires_grad() || values.requires_grad());
  const double dropped = wants_gradient ? dropout : 0;
  const bool has_kernel = queries.is_cpu() && queries.scalar_type() == at::kFloat && dropped == 0;
  if (is_plain(shape, visible) && shape.tokens >= long_text && dropped == 0)
    return heads_side_by_side(at::scaled_dot_product_attention(queries, per_query_head(keys, shape),
                                                               per_query_head(values, shape), {}, 0, true));
  if (!has_kernel) return composed_attention(queries, keys, values, shape, visible, dropped);
  return block_attention(queries, {keys, values, keys, values}, shape, visible);
}

namespace {

// Keys and values are kept in bf16: a few queries read them as they are, and for more they are widened once.
at::Tensor attention_over_rounded(const at::Tensor& queries, const CachedKeys& cached, int64_t first_position,
                                  VisibleKeys visible, double dropout) {
  constexpr int64_t few_queries = 8;
  const bool wants_gradient = at::GradMode::is_enabled() && queries.requires_grad();
  const bool has_kernel = queries.is_cpu() && queries.scalar_type() == at::kFloat;
  if (has_kernel && !wants_gradient && queries.size(2) <= few_queries)
    return rounded_attention(queries, cached.keys, cached.values, AttentionShape(queries, cached.keys, first_position),
                             visible);
  const auto type = queries.scalar_type();
  return cached_attention(queries,
                          {cached.keys.to(type), cached.values.to(type), cached.latest_keys, cached.latest_values},
                          first_position, visible, dropout);
}

}  // namespace

at::Tensor cached_attention(const at::Tensor& queries, const CachedKeys& cached, int64_t first_position,
                            VisibleKeys visible, double dropout) {
  end_if_discarded();
  if (cached.keys.scalar_type() != queries.scalar_type())
    return attention_over_rounded(queries, cached, first_position, visible, dropout);
  const auto& [keys, values, latest_keys, latest_values] = cached;
  const bool wants_gradient = at::GradMode::is_enabled() &&
                              (queries.requires_grad() || latest_keys.requires_grad() || latest_values.requires_grad());
  if (!wants_gradient) return causal_attention(queries, keys, values, first_position, visible);
  const int64_t past = keys.size(2) - latest_keys.size(2);
  if (past == 0) return causal_attention(queries, latest_keys, latest_values, first_position, visible, dropout);
  if (queries.is_cpu() && queries.scalar_type() == at::kFloat && dropout == 0)
    return block_attention(queries, cached, AttentionShape(queries, keys, first_position), visible);
  return causal_attention(queries, at::cat({keys.narrow(2, 0, past), latest_keys}, 2),
                          at::cat({values.narrow(2, 0, past), latest_values}, 2), first_position, visible, dropout);
}

}  // namespace fwl
