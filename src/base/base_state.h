// The state of a base model while it reads: KV cache or memory, and positions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/context.h"

namespace fwl {

// Holds B sequences at the same position; sequences at different positions have separate states. Reading changes a
// state in place, so it is movable, and copied only by clone().
struct BaseState {
  int64_t sequences = 1;          // B
  std::string shape;              // the architecture and sizes of the model that made it
  ContextOptions context;         // fixed for the state's life
  int64_t tokens_read = 0;        // of each sequence
  int64_t cached_tokens = 0;      // the last tokens_read that `cache` holds, in the layer that holds most
  int64_t window_start = 0;       // tokens before the window, whose first token has position 0
  std::vector<at::Tensor> cache;  // per layer, as the architecture needs it; may have room for more than cached_tokens
  std::vector<int64_t> layer_tokens;  // cached by each layer, where layers differ; empty: follows from `cache`
  at::Tensor recent;                  // B,n: the last token ids, if a restarted window rereads them
  int64_t undo_tokens = 0;            // how many of the last tokens can be taken back
  std::vector<at::Tensor> derived;    // cached functions of the weights; never saved

  BaseState() = default;
  BaseState(BaseState&&) = default;
  BaseState& operator=(BaseState&&) = default;
  BaseState clone() const;
  size_t bytes() const;

 private:
  BaseState(const BaseState&) = default;
};

}  // namespace fwl
