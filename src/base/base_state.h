// What a base model remembers of the texts that it reads.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "base/context.h"

namespace fwl {

// Of B texts that are read in step; texts at different positions have states of their own. Reading changes a state in
// place, so it moves but does not copy by accident.
struct BaseState {
  int64_t sequences = 1;            // B
  ContextOptions context;           // fixed for the state's life
  int64_t tokens_read = 0;          // of each text
  int64_t cached_tokens = 0;        // how many of the last of them `cache` holds
  int64_t window_start = 0;         // the position at which the model's own counting of positions starts
  std::vector<at::Tensor> cache;    // per layer what the architecture keeps; may have room for more than cached_tokens
  at::Tensor recent;                // B,n: the last token ids, where a window must be read again
  std::vector<at::Tensor> derived;  // what follows from the weights alone and is kept to save time; never saved

  BaseState() = default;
  BaseState(BaseState&&) = default;
  BaseState& operator=(BaseState&&) = default;
  BaseState clone() const;
  size_t bytes() const;

 private:
  BaseState(const BaseState&) = default;
};

}  // namespace fwl
