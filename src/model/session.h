// Everything that a language model remembers of the texts it reads: one object that can be advanced, copied, saved.
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

struct Session {
  BaseState base;
  FastState fast;          // undefined without a memory, and until it has read something
  at::Tensor last_hidden;  // B,D: the base's output for the last token, which waits for its target; undefined at first
  SamplerState sampler;

  int64_t sequences() const { return base.sequences; }
  int64_t tokens_read() const { return base.tokens_read; }
  Session clone() const;
  void detach();  // cuts the fast weights off from the graph that made them
  size_t bytes() const;
};

}  // namespace fwl
