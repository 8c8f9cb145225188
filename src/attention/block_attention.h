// Causal attention on the CPU by small products inside each thread, forward and backward; only the output is kept.
#pragma once

#include "attention/attention.h"

namespace fwl {

struct AttentionShape {
  int64_t batch, heads, key_heads, tokens, keys, width, first_position;

  AttentionShape(const at::Tensor& queries, const at::Tensor& key_tensor, int64_t first);

  int64_t position(int64_t query) const { return first_position + keys - tokens + query; }
  // The first key that a query sees, and the one past its own.
  int64_t first_key(int64_t query, VisibleKeys visible) const {
    return std::max<int64_t>(0, visible.first(position(query)) - first_position);
  }
  int64_t past_key(int64_t query) const { return keys - tokens + query + 1; }
};

// As causal_attention, for float tensors on the CPU.
at::Tensor block_attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                           const AttentionShape& shape, VisibleKeys visible);

}  // namespace fwl
