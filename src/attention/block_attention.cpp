#include "attention/block_attention.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <vector>

#include "engine/blas.h"
#include "engine/torch.h"
#include "kernels/kernels.h"

namespace fwl {
namespace {

constexpr int64_t block_queries = 64;

// The rows of one head: where they start, and how far apart they are.
template <class Number>
struct HeadRows {
  Number* data;
  int64_t stride;
  Number* row(int64_t index) const { return data + index * stride; }
};

// x: B,heads,T,d
HeadRows<const float> head_of(const at::Tensor& x, int64_t b, int64_t head) {
  return {x.const_data_ptr<float>() + b * x.stride(0) + head * x.stride(1), x.stride(2)};
}
HeadRows<float> mutable_head_of(const at::Tensor& x, int64_t b, int64_t head) {
  return {x.mutable_data_ptr<float>() + b * x.stride(0) + head * x.stride(1), x.stride(2)};
}

// Queries [first, first + count), which see keys within [low, high).
struct Block {
  int64_t first, count, low, high;

  Block(int64_t index, const AttentionShape& shape, VisibleKeys visible)
      : first(index * block_queries),
        count(std::min(block_queries, shape.tokens - first)),
        low(shape.first_key(first, visible)),
        high(shape.past_key(first + count - 1)) {}
  int64_t seen() const { return high - low; }
};

// Weights before they are divided by their sums; the factors that do that come beside them.   count,seen  count
void unscaled_weights(const HeadRows<const float>& queries, const HeadRows<const float>& keys, const Block& block,
                      const AttentionShape& shape, VisibleKeys visible, std::vector<float>& weights,
                      std::vector<float>& factors) {
  const int64_t seen = block.seen();
  weights.resize(static_cast<size_t>(block.count * seen));
  factors.resize(static_cast<size_t>(block.count));
  multiply_by_transposed(queries.row(block.first), queries.stride, keys.row(block.low), keys.stride, weights.data(),
                         seen, block.count, seen, shape.width);
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.width)));
  for (int64_t row = 0; row < block.count; ++row) {
    const int64_t begin = shape.first_key(block.first + row, visible) - block.low,
                  end = shape.past_key(block.first + row) - block.low;
    float* line = weights.data() + row * seen;
    std::fill(line, line + begin, 0.0F);
    std::fill(line + end, line + seen, 0.0F);
    factors[static_cast<size_t>(row)] = attention_weights(line + begin, nullptr, scale, end - begin);
  }
}

int64_t blocks_of(const AttentionShape& shape) {
  return (shape.tokens + block_queries - 1) / block_queries;
}

// -> B,T,heads,d
at::Tensor forward_blocks(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                          const AttentionShape& shape, VisibleKeys visible) {
  const auto out = at::empty({shape.batch, shape.tokens, shape.heads, shape.width}, queries.options());
  const auto out_heads = out.transpose(1, 2);
  const int64_t blocks = blocks_of(shape), tasks = shape.batch * shape.heads * blocks;
  const int64_t grain = shape.tokens * shape.keys < 4096 ? tasks : 1;
  at::parallel_for(0, tasks, grain, [&](int64_t begin, int64_t end) {
    std::vector<float> weights, factors;
    for (int64_t task = begin; task < end; ++task) {
      // Late blocks see more keys: heads change fastest, so that every thread gets early and late ones.
      const int64_t head = task % shape.heads, index = task / shape.heads % blocks, b = task / shape.heads / blocks;
      const int64_t key_head = head / (shape.heads / shape.key_heads);
      const Block block(index % 2 == 0 ? index / 2 : blocks - 1 - index / 2, shape, visible);
      const auto own_values = head_of(values, b, key_head);
      const auto results = mutable_head_of(out_heads, b, head);
      unscaled_weights(head_of(queries, b, head), head_of(keys, b, key_head), block, shape, visible, weights, factors);
      multiply(weights.data(), block.seen(), own_values.row(block.low), own_values.stride, results.row(block.first),
               results.stride, block.count, shape.width, block.seen());
      for (int64_t row = 0; row < block.count; ++row)
        for (int64_t column = 0; column < shape.width; ++column)
          results.row(block.first + row)[column] *= factors[static_cast<size_t>(row)];
    }
  });
  return out;
}

// Everything that the backward of one head reads and writes; keys and values may be shared with other heads.
struct HeadGradient {
  HeadRows<const float> queries, keys, values, out, upstream;
  HeadRows<float> d_queries, d_keys, d_values;
};

// Rebuilds a block's weights p, and from the output's gradient u: dv += p^T u, ds = p * (u v^T - u . out) * scale,
// dq = ds k, dk += ds^T q.
void backward_block(const HeadGradient& head, const Block& block, const AttentionShape& shape, VisibleKeys visible,
                    std::vector<float>& weights, std::vector<float>& factors, std::vector<float>& scores) {
  const int64_t seen = block.seen(), width = shape.width;
  unscaled_weights(head.queries, head.keys, block, shape, visible, weights, factors);
  scores.resize(weights.size());
  multiply_by_transposed(head.upstream.row(block.first), head.upstream.stride, head.values.row(block.low),
                         head.values.stride, scores.data(), seen, block.count, seen, width);
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(width)));
  for (int64_t row = 0; row < block.count; ++row) {
    const float mean = dot(head.upstream.row(block.first + row), head.out.row(block.first + row), width);
    attention_gradient_row(weights.data() + row * seen, scores.data() + row * seen, factors[static_cast<size_t>(row)],
                           mean, scale, seen);
  }
  add_transposed_product(weights.data(), seen, head.upstream.row(block.first), head.upstream.stride,
                         head.d_values.row(block.low), head.d_values.stride, seen, width, block.count);
  multiply(scores.data(), seen, head.keys.row(block.low), head.keys.stride, head.d_queries.row(block.first),
           head.d_queries.stride, block.count, width, seen);
  add_transposed_product(scores.data(), seen, head.queries.row(block.first), head.queries.stride,
                         head.d_keys.row(block.low), head.d_keys.stride, seen, width, block.count);
}

struct AttentionGradients {
  at::Tensor queries, keys, values;  // shaped as what they belong to
};

// Heads that share keys go to one thread, because they add to the same gradients.
AttentionGradients backward_blocks(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                                   const at::Tensor& out, const at::Tensor& upstream, const AttentionShape& shape,
                                   VisibleKeys visible) {
  const auto fresh = [&](int64_t tokens, int64_t heads) {
    return at::zeros({shape.batch, tokens, heads, shape.width}, queries.options()).transpose(1, 2);
  };
  const AttentionGradients gradients{fresh(shape.tokens, shape.heads), fresh(shape.keys, shape.key_heads),
                                     fresh(shape.keys, shape.key_heads)};
  const auto out_heads = out.transpose(1, 2), upstream_heads = with_contiguous_rows(upstream.transpose(1, 2));
  const int64_t group = shape.heads / shape.key_heads;
  at::parallel_for(0, shape.batch * shape.key_heads, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> weights, factors, scores;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t b = task / shape.key_heads, key_head = task % shape.key_heads;
      for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
        const HeadGradient one{head_of(queries, b, head),
                               head_of(keys, b, key_head),
                               head_of(values, b, key_head),
                               head_of(out_heads, b, head),
                               head_of(upstream_heads, b, head),
                               mutable_head_of(gradients.queries, b, head),
                               mutable_head_of(gradients.keys, b, key_head),
                               mutable_head_of(gradients.values, b, key_head)};
        for (int64_t index = 0; index < blocks_of(shape); ++index)
          backward_block(one, Block(index, shape, visible), shape, visible, weights, factors, scores);
      }
    }
  });
  return gradients;
}

class BlockAttention : public torch::autograd::Function<BlockAttention> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& queries,
                            const at::Tensor& keys, const at::Tensor& values, int64_t first_position,
                            VisibleKeys visible) {
    const AttentionShape shape(queries, keys, first_position);
    const auto out = forward_blocks(queries, keys, values, shape, visible);
    context->save_for_backward({queries, keys, values, out});
    context->saved_data["first_position"] = first_position;
    context->saved_data["visible"] = visible.as_number();
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& upstreams) {
    const auto saved = context->get_saved_variables();
    const AttentionShape shape(saved[0], saved[1], context->saved_data["first_position"].toInt());
    const auto visible = VisibleKeys::from_number(context->saved_data["visible"].toInt());
    const auto gradients = backward_blocks(saved[0], saved[1], saved[2], saved[3], upstreams[0], shape, visible);
    return {gradients.queries, gradients.keys, gradients.values, {}, {}};
  }
};

}  // namespace

AttentionShape::AttentionShape(const at::Tensor& queries, const at::Tensor& key_tensor, int64_t first)
    : batch(queries.size(0)),
      heads(queries.size(1)),
      key_heads(key_tensor.size(1)),
      tokens(queries.size(2)),
      keys(key_tensor.size(2)),
      width(queries.size(3)),
      first_position(first) {}

at::Tensor block_attention(const at::Tensor& given_queries, const at::Tensor& given_keys,
                           const at::Tensor& given_values, const AttentionShape& shape, VisibleKeys visible) {
  const auto queries = with_contiguous_rows(given_queries), keys = with_contiguous_rows(given_keys),
             values = with_contiguous_rows(given_values);
  return BlockAttention::apply(queries, keys, values, shape.first_position, visible).flatten(2);
}

}  // namespace fwl
