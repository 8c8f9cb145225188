// The fast-weight state of a batch of texts: named tensors with one row per text, and positions in their segments.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weights/tensor_reader.h"

namespace fwl {

// Tensors of a state whose names start so are statistics of the text: decaying what was learned leaves them alone.
inline constexpr const char* statistics_prefix = "statistics.";

// Every kind of memory keeps its numbers here by name, so that copying, batching, saving and loading exist once.
// Time is cut into segments at fixed positions; tokens of weight 0 do not count as positions. Texts in one state need
// not be at the same position.
struct FastState {
  std::map<std::string, at::Tensor> tensors;  // each B,…; a name that is missing stands for zeros
  std::vector<int64_t> open_tokens;           // B: tokens in the open segment
  std::vector<int64_t> tokens_read;           // B: tokens that updated the state since the start
  int64_t segment_tokens = 0;                 // length of a segment; 0: a segment never ends

  bool is_defined() const { return !open_tokens.empty(); }
  bool is_segment_full() const { return segment_tokens > 0 && open_tokens.front() == segment_tokens; }
  int64_t sequences() const { return static_cast<int64_t>(open_tokens.size()); }
  at::Tensor find(const std::string& name) const;  // undefined if it is missing
  size_t bytes() const;

  FastState clone() const;
  FastState detach() const;
  FastState sequence(int64_t index) const;                      // the state of one text
  static FastState join(const std::vector<FastState>& states);  // several states as one batch
};

// What a memory expects in its state.
struct StateTensor {
  std::string name;
  std::vector<int64_t> shape;  // without the leading B
  bool is_optional = false;    // may be missing
};
struct StateLayout {
  std::vector<StateTensor> tensors;
  at::TensorOptions options;

  FastState zeros(int64_t sequences) const;  // without the optional ones
};

// As part of a larger file, under a prefix. Reading checks every name, shape and number against the layout.
void append_state(TensorMap& tensors, const std::string& prefix, const FastState& state);
FastState take_state(TensorReader& reader, const std::string& prefix, const StateLayout& layout);

// As a safetensors file of its own.
void save_state(const FastState& state, const std::string& path);
FastState load_state(const std::string& path, const StateLayout& layout);

}  // namespace fwl
