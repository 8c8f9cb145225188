// How many past tokens a model sees, and what happens at the end of its context.
#pragma once

#include <cstdint>
#include <string>

namespace fwl {

// What happens when the context is full. refuse: an error. slide: every position sees the last `context_tokens`
// positions; needs relative positions. restart: a new window starts by rereading the last half of the old one.
enum class LongText { refuse, slide, restart };

LongText long_text_from_name(const std::string& name);  // refuse, slide, restart

// Belongs to a state, not to a model: states with different contexts can share one model.
struct ContextOptions {
  int64_t context_tokens = 0;  // 0: no limit
  LongText long_text = LongText::refuse;
  // Transformer-XL
  int64_t memory_tokens = 0;    // past positions that stay visible
  int64_t clamp_tokens = 0;     // longer distances are clamped to it; 0: no clamp
  bool is_same_length = false;  // each position sees memory_tokens keys; otherwise the whole memory and its own segment

  // Keys and values of past tokens are rounded to bf16, which halves their memory. Not kept in session files.
  bool has_bf16_cache = false;

  bool operator==(const ContextOptions&) const = default;
};

}  // namespace fwl
