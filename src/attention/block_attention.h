// Causal attention on the CPU with small products inside each thread, forward and backward; keeps only the output.
#pragma once

#include "attention/attention.h"

namespace fwl {

struct AttentionShape {
  int64_t batch, heads, key_heads, tokens, keys, width, first_position;

  AttentionShape(const at::Tensor& queries, const at::Tensor& key_tensor, int64_t first);

  int64_t position(int64_t query) const { return first_position + keys - tokens + query; }
  // The range of keys that a query sees: the first, and one past its own.
  int64_t first_key(int64_t query, VisibleKeys visible) const {
    return std::max<int64_t>(0, visible.first(position(query)) - first_position);
  }
  int64_t past_key(int64_t query) const { return keys - tokens + query + 1; }
};

// causal_attention for float tensors on the CPU.
at::Tensor block_attention(const at::Tensor& queries, const CachedKeys& cached, const AttentionShape& shape,
                           VisibleKeys visible);

// causal_attention in plain tensor operations, which can be differentiated any number of times.
at::Tensor composed_attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                              const AttentionShape& shape, VisibleKeys visible, double dropout = 0);

}  // namespace fwl
