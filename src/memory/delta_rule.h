// The delta rule of fast weight programmers: a matrix of associations that a slow network writes to and reads from.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace fwl {

struct DeltaInput {
  at::Tensor query, key;  // B,T,K
  at::Tensor value;       // B,T,N
  at::Tensor rate;        // B,T: in (0,1)
  at::Tensor matrix;      // B,K,N: what was written before the first token
};

struct DeltaOutput {
  at::Tensor value;   // B,T,N: query_t @ matrix_t
  at::Tensor matrix;  // B,K,N after the last token
};

// The definition: matrix_t = matrix_{t-1} + rate_t key_t^T (value_t - key_t @ matrix_{t-1}), one token after the other.
DeltaOutput delta_rule_recurrent(const DeltaInput& input);

// The same in chunks of C positions. Within a chunk the writes depend on each other through a triangular system, which
// is solved at once; across chunks the matrix is carried. Differentiable.
DeltaOutput delta_rule_chunked(const DeltaInput& input, int64_t chunk_tokens);

}  // namespace fwl
