// How much of a text is read at a time where no gradients are wanted, so that memory does not grow with the text.
#pragma once

#include <cstdint>

namespace fwl {

inline constexpr int64_t reading_window_tokens = 2048;

}  // namespace fwl
