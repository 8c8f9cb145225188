// The complete state of a language model for the texts it reads, which can be advanced, copied and saved.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "base/base_model.h"
#include "memory/fast_state.h"

namespace fwl {

// What the sampler carries from token to token.
struct SamplerState {
  int64_t seed = 0, draws = 0;  // of the random numbers
  std::vector<int64_t> recent;  // the last tokens
};

// The fast weights inside the base's blocks, and the chunk that they learn from next.
struct BlockState {
  FastState fast;            // undefined until something is read
  at::Tensor tokens;         // B,n: read of the open chunk; undefined: none
  at::Tensor targets;        // B,n or B,n-1: known ones
  at::Tensor token_weights;  // like targets: 0 where the memories do not learn
  int64_t chunk_tokens = 0;  // length of the open chunk

  BlockState clone() const;
  size_t bytes() const;
};

struct Session {
  BaseState base;
  FastState fast;          // undefined without a memory, and until it has read something
  at::Tensor last_hidden;  // B,D: the base's output for the last token, whose target comes next; undefined at first
  SamplerState sampler;
  BlockState blocks;  // without memories in the blocks: empty

  int64_t sequences() const { return base.sequences; }
  int64_t tokens_read() const { return base.tokens_read; }
  Session clone() const;
  void detach();  // detaches the fast weights from their autograd graph
  size_t bytes() const;
};

}  // namespace fwl
