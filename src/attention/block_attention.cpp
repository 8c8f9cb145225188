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

// The rows of one head: their start and stride.
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

// Attention weights before normalisation, and the factors that normalise them.   count,seen  count
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
      // Later blocks see more keys. Heads change fastest, so that every thread gets early and late blocks.
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

// What the backward pass of one head reads and writes; keys and values may be shared with other heads.
struct HeadGradient {
  HeadRows<const float> queries, keys, values, out, upstream;
  HeadRows<float> d_queries, d_keys, d_values;
  int64_t past;  // keys before those that d_keys and d_values are of
};

// Recomputes a block's weights p. Keys before `past` are constants. With the gradient u of the output: dv += p^T u, ds
// = p * (u v^T - u . out) * scale, dq = ds k, dk += ds^T q.
void backward_block(const HeadGradient& head, const Block& block, const AttentionShape& shape, VisibleKeys visible,
                    std::vector<float>& weights, std::vector<float>& factors, std::vector<float>& scores) {
  const int64_t seen = block.seen(), width = shape.width;
  const int64_t first = std::max(block.low, head.past), constant = first - block.low;
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
  add_transposed_product(weights.data() + constant, seen, head.upstream.row(block.first), head.upstream.stride,
                         head.d_values.row(first - head.past), head.d_values.stride, seen - constant, width,
                         block.count);
  multiply(scores.data(), seen, head.keys.row(block.low), head.keys.stride, head.d_queries.row(block.first),
           head.d_queries.stride, block.count, width, seen);
  add_transposed_product(scores.data() + constant, seen, head.queries.row(block.first), head.queries.stride,
                         head.d_keys.row(first - head.past), head.d_keys.stride, seen - constant, width, block.count);
}

struct AttentionGradients {
  at::Tensor queries, keys, values;  // gradients, shaped like their inputs
};

// Heads that share keys run on one thread, because they add to the same gradients.
AttentionGradients backward_blocks(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                                   const at::Tensor& out, const at::Tensor& upstream, const AttentionShape& shape,
                                   VisibleKeys visible, int64_t past) {
  const auto fresh = [&](int64_t tokens, int64_t heads) {
    return at::zeros({shape.batch, tokens, heads, shape.width}, queries.options()).transpose(1, 2);
  };
  const AttentionGradients gradients{fresh(shape.tokens, shape.heads), fresh(shape.keys - past, shape.key_heads),
                                     fresh(shape.keys - past, shape.key_heads)};
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
                               mutable_head_of(gradients.values, b, key_head),
                               past};
        for (int64_t index = 0; index < blocks_of(shape); ++index)
          backward_block(one, Block(index, shape, visible), shape, visible, weights, factors, scores);
      }
    }
  });
  return gradients;
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Takes the latest keys and values as inputs for autograd, and all of them as plain data: a cache that later positions
// are written behind.
class BlockAttention : public torch::autograd::Function<BlockAttention> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& queries, const at::Tensor& latest_keys,
                            const at::Tensor& latest_values, const at::Tensor& keys, const at::Tensor& values,
                            int64_t first_position, VisibleKeys visible) {
    const AttentionShape shape(queries, keys, first_position);
    const auto out = forward_blocks(queries, keys, values, shape, visible);
    context->save_for_backward({queries, latest_keys, latest_values, out});
    context->saved_data["keys"] = keys.detach();
    context->saved_data["values"] = values.detach();
    context->saved_data["first_position"] = first_position;
    context->saved_data["visible"] = visible.as_number();
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& upstreams) {
    const auto saved = context->get_saved_variables();
    const auto keys = context->saved_data["keys"].toTensor(), values = context->saved_data["values"].toTensor();
    const AttentionShape shape(saved[0], keys, context->saved_data["first_position"].toInt());
    const auto visible = VisibleKeys::from_number(context->saved_data["visible"].toInt());
    const int64_t past = shape.keys - saved[1].size(2);
    if (at::GradMode::is_enabled()) return differentiable_backward(saved, keys, values, upstreams[0], shape, visible);
    const auto gradients = backward_blocks(saved[0], keys, values, saved[3], upstreams[0], shape, visible, past);
    return {gradients.queries, gradients.keys, gradients.values, {}, {}, {}, {}};
  }

 private:
  static variable_list differentiable_backward(const variable_list& saved, const at::Tensor& keys,
                                               const at::Tensor& values, const at::Tensor& upstream,
                                               const AttentionShape& shape, VisibleKeys visible) {
    const int64_t past = shape.keys - saved[1].size(2);
    const auto with_past = [&](const at::Tensor& all, const at::Tensor& latest) {
      return past > 0 ? at::cat({all.narrow(2, 0, past), latest}, 2) : latest;
    };
    const auto out = composed_attention(saved[0], with_past(keys, saved[1]), with_past(values, saved[2]), shape,
                                        visible);  // B,T,heads * d
    const auto gradients =
        torch::autograd::grad({out}, {saved[0], saved[1], saved[2]}, {upstream.flatten(2)}, true, true, true);
    return {gradients[0], gradients[1], gradients[2], {}, {}, {}, {}};
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

at::Tensor block_attention(const at::Tensor& queries, const CachedKeys& cached, const AttentionShape& shape,
                           VisibleKeys visible) {
  return BlockAttention::apply(with_contiguous_rows(queries), cached.latest_keys, cached.latest_values,
                               with_contiguous_rows(cached.keys), with_contiguous_rows(cached.values),
                               shape.first_position, visible)
      .flatten(2);
}

}  // namespace fwl
