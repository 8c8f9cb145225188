// Causal attention without a T x T tensor: in blocks of queries, or LibTorch's fused attention for long plain texts.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

namespace fwl {

// Which past positions a position sees, itself always included.
class VisibleKeys {
 public:
  static VisibleKeys all() { return {Kind::all, 0}; }
  static VisibleKeys sliding(int64_t tokens) { return {Kind::sliding, tokens}; }  // the last `tokens`
  static VisibleKeys blocks(int64_t tokens) { return {Kind::blocks, tokens}; }    // its own block and the one before

  int64_t first(int64_t position) const {
    if (kind_ == Kind::sliding) return std::max<int64_t>(0, position - tokens_ + 1);
    if (kind_ == Kind::blocks) return std::max<int64_t>(0, (position / tokens_ - 1) * tokens_);
    return 0;
  }

  // Encodes this as one number for autograd, and back.
  int64_t as_number() const { return tokens_ * kinds + static_cast<int64_t>(kind_); }
  static VisibleKeys from_number(int64_t number) { return {static_cast<Kind>(number % kinds), number / kinds}; }

 private:
  enum class Kind { all, sliding, blocks };
  static constexpr int64_t kinds = 3;
  VisibleKeys(Kind kind, int64_t tokens) : kind_(kind), tokens_(tokens) {}
  Kind kind_;
  int64_t tokens_;
};

// queries: B,heads,T,d   keys, values: B,key heads,K,d, at positions first_position … first_position + K - 1; the
// queries are at the last T of them. Several query heads may share a key head. -> B,T,heads * d
// Differentiable. Dropout of the attention weights acts only if a gradient is needed.
at::Tensor causal_attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                            int64_t first_position, VisibleKeys visible, double dropout = 0);

// Keys and values of which the last T were just computed, through which gradients flow; those before are constants.
struct CachedKeys {
  at::Tensor keys, values;                // B,key heads,K,d: all of them, without a graph; perhaps in bf16
  at::Tensor latest_keys, latest_values;  // B,key heads,T,d: the last T of them, with their graph if there is one
};

// causal_attention over a cache. Differentiable, and once more while its backward pass records a graph.
at::Tensor cached_attention(const at::Tensor& queries, const CachedKeys& cached, int64_t first_position,
                            VisibleKeys visible, double dropout = 0);

}  // namespace fwl
