// Transformer-XL's attention: scores from content and from distance, each with a learned bias on the query.
#pragma once

#include <ATen/core/Tensor.h>

namespace fwl {

struct RelativeBiases {
  at::Tensor content, position;  // heads,d each
};

// queries: B,heads,T,d   keys, values: B,heads,K,d; the queries are at the last T keys
// distances: heads,K,d, the keys of distances K-1, K-2, … 0
// Every query sees the keys up to its own, at most the last seen_tokens of them (0: all). -> B,T,heads * d
// Differentiable. Dropout of the attention weights acts only if a gradient is needed.
at::Tensor relative_attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                              const at::Tensor& distances, const RelativeBiases& biases, int64_t seen_tokens,
                              double dropout = 0);

}  // namespace fwl
