// The complete state of a language model for the texts it reads, which can be advanced, copied and saved.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "base/base_model.h"
#include "memory/fast_state.h"
#include "weights/tensor_reader.h"

namespace fwl {

// Where the writing of a text stands besides the model's own memory.
struct WritingPlace {
  int64_t seed = 0, draws = 0;  // of the random numbers
  std::vector<int64_t> recent;  // the last tokens
};

struct Session {
  BaseState base;
  FastState fast;  // undefined without a memory, and until it has read something
  at::Tensor
      last_hidden;  // B,D: the base's output for the last token, whose target is not known yet; undefined at first
  WritingPlace place;

  int64_t sequences() const { return base.sequences; }
  int64_t tokens_read() const { return base.tokens_read; }
  Session clone() const;
  void detach();  // detaches the fast weights from their autograd graph
  size_t bytes() const;
};

// In a session file the names of the fast-weight state begin with this.
inline constexpr const char* fast_state_prefix = "state.";

// Opens a session file of any model and checks its checksum.
TensorReader open_session_file(const std::string& path);

}  // namespace fwl
