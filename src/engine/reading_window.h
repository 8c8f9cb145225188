// The number of tokens read at a time without gradients, so that memory does not grow with the text.
#pragma once

#include <cstdint>

namespace fwl {

inline constexpr int64_t reading_window_tokens = 2048;

}  // namespace fwl
