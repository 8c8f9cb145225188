// Session files without their model: what they are named by, where they stand, and which tensors are fast weights.
#pragma once

#include <cstdint>
#include <string>

#include "weights/tensor_reader.h"

namespace fwl {

// Every tensor of a fast-weight state has a name that starts so; no other tensor of a session file does.
inline constexpr const char* fast_state_prefix = "state.";
inline constexpr const char* block_state_prefix = "state.blocks.";        // of the memories in the blocks
inline constexpr const char* block_chunk_prefix = "state.blocks.chunk.";  // the chunk that they learn from next

// Of the KV cache (or memory) of the base in a session file. The fast weights are always stored as they are.
enum class CachePrecision {
  full,  // as in memory: a session goes on with the same bits
  bf16,  // half the size of fp32
  q8     // 8 bits with a scale per head and position: a little more than a quarter
};
CachePrecision cache_precision_from_name(const std::string& name);  // fp32, bf16, q8

struct SessionHeader {
  std::string architecture, model;  // the base's, and the identity of model and adapter
  int64_t sequences = 1, tokens_read = 0;
  int64_t cached_tokens = 0;  // in the KV cache
  int64_t fast_tokens = 0;    // that updated the fast weights
};

// A file that says it is a session, its checksum right; of any model.
TensorReader open_session_file(const std::string& path);
SessionHeader session_header(TensorReader reader);
std::string session_note(const TensorReader& reader, const std::string& key);  // empty: none

}  // namespace fwl
