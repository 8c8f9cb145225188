// A linear map whose weights follow the gradients of the past: strictly causal linear attention, in two equal forms.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace fwl {

struct FastLinearInput {
  at::Tensor slow;         // B,T,N: query @ M + m, the output of the slow weights M: K,N and m: N
  at::Tensor query;        // B,T,K: what the map is applied to
  at::Tensor key;          // B,T,K: what it was applied to when the gradients were taken
  at::Tensor gradient;     // B,T,N: of each token's loss to the map's output
  at::Tensor matrix_sum;   // B,K,N: gradients of M before the first token
  at::Tensor bias_sum;     // B,N: gradients of m before the first token
  at::Tensor matrix_step;  // one number: the step size of M
  at::Tensor bias_step;    // one number: the step size of m
};

struct FastLinearOutput {
  at::Tensor
      value;  // B,T,N: slow_t - matrix_step * query_t @ (matrix_sum + sum_{i<t} key_i^T gradient_i) - bias_step *
              //        (bias_sum + sum_{i<t} gradient_i)
  at::Tensor matrix_sum;  // B,K,N after the last token
  at::Tensor bias_sum;    // B,N after the last token
};

// The definition: a T x T matrix of scores, masked strictly below the diagonal.
FastLinearOutput fast_linear_quadratic(const FastLinearInput& input);

// The same within chunks of C positions, and running sums across them: linear in T, for any T and any C.
FastLinearOutput fast_linear_chunked(const FastLinearInput& input, int64_t chunk_tokens);

// initial + sum_{i<t} values_i, and the sum after the last token.   initial: B,N   values: B,T,N
struct RunningSum {
  at::Tensor before;  // B,T,N
  at::Tensor end;     // B,N
};
RunningSum running_sum(const at::Tensor& initial, const at::Tensor& values);

}  // namespace fwl
