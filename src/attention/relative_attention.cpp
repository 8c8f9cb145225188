#include "attention/relative_attention.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "engine/blas.h"
#include "engine/torch.h"
#include "kernels/kernels.h"
#include "support/discardable.h"

namespace fwl {
namespace {

struct HeadPointers {
  const float *content_queries, *position_queries, *keys, *values, *distances;
  int64_t query_stride, key_stride, value_stride, distance_stride;
  float* out;
  int64_t out_stride;
};

struct Sizes {
  int64_t tokens, keys, width, seen_tokens;

  int64_t past_key(int64_t query) const { return keys - tokens + query + 1; }
  int64_t first_key(int64_t query) const {
    return seen_tokens > 0 ? std::max<int64_t>(0, past_key(query) - seen_tokens) : 0;
  }
};

struct Scratch {
  std::vector<float> scores, shifted, factors;
};

// One block of queries. Key j is at distance K - T + i - j from query i, which is entry j + T - 1 - i of the list of
// distances: row i of the distance scores, shifted by T - 1 - i, aligns with the keys.
void attend(const HeadPointers& head, const Sizes& sizes, int64_t first, int64_t count, Scratch& scratch) {
  const int64_t low = sizes.first_key(first), seen = sizes.past_key(first + count - 1) - low;
  const int64_t first_distance = low + sizes.tokens - first - count, distances = seen + count - 1;
  const int64_t known = std::min(distances, sizes.keys - first_distance);  // the rest aligns with masked keys
  scratch.scores.resize(static_cast<size_t>(count * seen));
  scratch.shifted.resize(static_cast<size_t>(count * known));
  scratch.factors.resize(static_cast<size_t>(count));
  multiply_by_transposed(head.content_queries + first * head.query_stride, head.query_stride,
                         head.keys + low * head.key_stride, head.key_stride, scratch.scores.data(), seen, count, seen,
                         sizes.width);
  multiply_by_transposed(head.position_queries + first * head.query_stride, head.query_stride,
                         head.distances + first_distance * head.distance_stride, head.distance_stride,
                         scratch.shifted.data(), known, count, known, sizes.width);
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(sizes.width)));
  for (int64_t row = 0; row < count; ++row) {
    const int64_t begin = sizes.first_key(first + row) - low, end = sizes.past_key(first + row) - low;
    float* weights = scratch.scores.data() + row * seen;
    std::fill(weights, weights + begin, 0.0F);
    std::fill(weights + end, weights + seen, 0.0F);
    const float* by_distance = scratch.shifted.data() + row * known + (count - 1 - row) + begin;
    scratch.factors[static_cast<size_t>(row)] = attention_weights(weights + begin, by_distance, scale, end - begin);
  }
  multiply(scratch.scores.data(), seen, head.values + low * head.value_stride, head.value_stride,
           head.out + first * head.out_stride, head.out_stride, count, sizes.width, seen);
  for (int64_t row = 0; row < count; ++row)
    for (int64_t column = 0; column < sizes.width; ++column)
      head.out[(first + row) * head.out_stride + column] *= scratch.factors[static_cast<size_t>(row)];
}

at::Tensor attention_in_blocks(const at::Tensor& queries, const at::Tensor& given_keys, const at::Tensor& given_values,
                               const at::Tensor& given_distances, const RelativeBiases& biases, const Sizes& sizes) {
  const auto keys = with_contiguous_rows(given_keys), values = with_contiguous_rows(given_values),
             distances = with_contiguous_rows(given_distances);
  const auto content = (queries + biases.content.unsqueeze(1)).contiguous();    // B,heads,T,d
  const auto position = (queries + biases.position.unsqueeze(1)).contiguous();  // B,heads,T,d
  const int64_t batch = queries.size(0), heads = queries.size(1);
  auto out = at::empty({batch, sizes.tokens, heads * sizes.width}, queries.options());
  constexpr int64_t queries_per_task = 64;
  const int64_t blocks = (sizes.tokens + queries_per_task - 1) / queries_per_task, tasks = batch * heads * blocks;
  float* out_data = out.mutable_data_ptr<float>();
  const auto row_of = [](const at::Tensor& tensor, int64_t b, int64_t head) {
    return tensor.const_data_ptr<float>() + b * tensor.stride(0) + head * tensor.stride(1);
  };
  at::parallel_for(0, tasks, sizes.tokens * sizes.keys < 4096 ? tasks : 1, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t head = task / blocks % heads, b = task / blocks / heads, first = task % blocks * queries_per_task;
      const HeadPointers pointers{row_of(content, b, head),
                                  row_of(position, b, head),
                                  row_of(keys, b, head),
                                  row_of(values, b, head),
                                  distances.const_data_ptr<float>() + head * distances.stride(0),
                                  content.stride(2),
                                  keys.stride(2),
                                  values.stride(2),
                                  distances.stride(1),
                                  out_data + b * out.stride(0) + head * sizes.width,
                                  out.stride(1)};
      attend(pointers, sizes, first, std::min(queries_per_task, sizes.tokens - first), scratch);
    }
  });
  return out;
}

// Shifts row i left by T - 1 - i; entries that wrap around align with masked keys.   B,heads,T,K
at::Tensor shift_rows(const at::Tensor& scores) {
  const auto sizes = scores.sizes();
  const auto padded = at::constant_pad_nd(scores, {1, 0});  // B,heads,T,K+1
  return padded.view({sizes[0], sizes[1], sizes[3] + 1, sizes[2]}).narrow(2, 1, sizes[3]).reshape(sizes);
}

at::Tensor differentiable_attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                                    const at::Tensor& distances, const RelativeBiases& biases, const Sizes& sizes,
                                    double dropout) {
  const auto content = at::matmul(queries + biases.content.unsqueeze(1), keys.transpose(2, 3));         // B,heads,T,K
  const auto position = at::matmul(queries + biases.position.unsqueeze(1), distances.transpose(1, 2));  // B,heads,T,K
  const auto ones = at::ones({sizes.tokens, sizes.keys}, queries.options().dtype(at::kBool));
  auto hidden_keys = ones.triu(sizes.keys - sizes.tokens + 1);
  if (sizes.seen_tokens > 0)
    hidden_keys = hidden_keys.logical_or(ones.tril(sizes.keys - sizes.tokens - sizes.seen_tokens));
  const double scale = 1 / std::sqrt(static_cast<double>(sizes.width));
  auto weights = ((content + shift_rows(position)) * scale).masked_fill(hidden_keys, -INFINITY).softmax(-1);
  if (dropout > 0) weights = at::dropout(weights, dropout, true);
  return at::matmul(weights, values).transpose(1, 2).flatten(2);
}

}  // namespace

at::Tensor relative_attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                              const at::Tensor& distances, const RelativeBiases& biases, int64_t seen_tokens,
                              double dropout) {
  end_if_discarded();
  const Sizes sizes{queries.size(2), keys.size(2), queries.size(3), seen_tokens};
  const at::Tensor inputs[] = {queries, keys, values, distances, biases.content, biases.position};
  const bool wants_gradient =
      at::GradMode::is_enabled() &&
      std::any_of(std::begin(inputs), std::end(inputs), [](const at::Tensor& input) { return input.requires_grad(); });
  if (wants_gradient || !queries.is_cpu() || queries.scalar_type() != at::kFloat)
    return differentiable_attention(queries, keys, values, distances, biases, sizes, wants_gradient ? dropout : 0);
  return attention_in_blocks(queries, keys, values, distances, biases, sizes);
}

}  // namespace fwl
