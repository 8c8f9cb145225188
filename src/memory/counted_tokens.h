// Tokens of weight 0 taken out of a batch before a memory reads it, so that padding never touches a state.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace fwl {

// The tokens that count, moved to the front of each sequence in their order.
struct CountedTokens {
  at::Tensor hidden, targets;    // B,P,D and B,P, P being the largest number of counted tokens in a sequence
  at::Tensor weights;            // B,P: 0 past the end of a sequence
  at::Tensor order;              // B,P: where each token came from
  std::vector<int64_t> lengths;  // B: counted tokens

  int64_t longest() const { return order.size(1); }
  // Losses (B,P) back at their places in a batch of this shape, 0 elsewhere; undefined ones stay so.
  at::Tensor losses_in_place(const at::Tensor& losses, at::IntArrayRef shape) const;
};

bool has_uncounted(const at::Tensor& weights);  // any token of weight 0; undefined: none
CountedTokens counted_tokens(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& weights);

}  // namespace fwl
