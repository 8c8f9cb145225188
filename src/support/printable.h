// Makes text from files safe to print on one line: control characters and invalid UTF-8 become escapes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fwl {

// Cuts after about `longest` bytes, with an ellipsis.
std::string printable(std::string_view text, size_t longest = 80);

// The length in bytes of the valid UTF-8 character at the start of `text`, or 0 if there is none.
size_t utf8_length(std::string_view text);

}  // namespace fwl
