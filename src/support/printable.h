// Text from files made safe for one line of a terminal: control characters and broken UTF-8 are shown as escapes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fwl {

// Cuts after about `longest` bytes, with an ellipsis.
std::string printable(std::string_view text, size_t longest = 80);

// The bytes of the well-formed UTF-8 character at the start of `text`, or 0 where there is none.
size_t utf8_length(std::string_view text);

}  // namespace fwl
