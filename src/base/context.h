// How much of the past a text is read with, and what happens where the model's positions end.
#pragma once

#include <cstdint>
#include <string>

namespace fwl {

// At the end of the context: an error; every position sees the last `context_tokens` positions (needs relative
// positions); or a new window starts that first reads the last half of the old one again.
enum class LongText { refuse, slide, restart };

LongText long_text_from_name(const std::string& name);  // refuse, slide, restart

// Belongs to a state, not to a model: states of different contexts share one model.
struct ContextOptions {
  int64_t context_tokens = 0;  // 0: no end
  LongText long_text = LongText::refuse;
  // Transformer-XL
  int64_t memory_tokens = 0;    // past positions that stay visible
  int64_t clamp_tokens = 0;     // distances beyond it look alike; 0: none
  bool is_same_length = false;  // each position sees memory_tokens keys; otherwise the whole memory and its segment

  bool operator==(const ContextOptions&) const = default;
};

}  // namespace fwl
