#include "attention/attention.h"

#include <cmath>
#include <vector>

#include "attention/block_attention.h"
#include "engine/torch.h"

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

at::Tensor composed_attention(const at::Tensor& queries, const at::Tensor& given_keys, const at::Tensor& given_values,
                              const AttentionShape& shape, VisibleKeys visible, double dropout) {
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
  const AttentionShape shape(queries, keys, first_position);
  const bool wants_gradient =
      at::GradMode::is_enabled() && (queries.requires_grad() || keys.requires_grad() || values.requires_grad());
  const double dropped = wants_gradient ? dropout : 0;
  const bool has_kernel = queries.is_cpu() && queries.scalar_type() == at::kFloat && dropped == 0;
  constexpr int64_t long_text = 256;  // from this length on, LibTorch's fused attention is faster
  if (!has_kernel || (is_plain(shape, visible) && shape.tokens >= long_text))
    return composed_attention(queries, keys, values, shape, visible, dropped);
  return block_attention(queries, keys, values, shape, visible);
}

}  // namespace fwl
