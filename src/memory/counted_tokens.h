// Removes tokens of weight 0 from a batch before a memory reads it, so that padding never touches a state.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace fwl {

// The tokens of each sequence that count, without gaps, in their order.
struct CountedTokens {
  at::Tensor hidden, targets;    // B,P,D and B,P, P being the largest number of counted tokens in a sequence
  at::Tensor weights;            // B,P: 0 past the end of a sequence
  at::Tensor order;              // B,P: where each token came from
  std::vector<int64_t> lengths;  // B: counted tokens

  int64_t longest() const { return order.size(1); }
  // Losses (B,P) or outputs (B,P,D) at their original positions in a batch of T tokens, 0 elsewhere; undefined if they
  // are.
  at::Tensor in_place(const at::Tensor& values, int64_t tokens) const;
};

bool has_uncounted(const at::Tensor& weights);  // any token of weight 0; undefined: none
CountedTokens counted_tokens(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& weights);

}  // namespace fwl
