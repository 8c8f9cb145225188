// A stretch of a text on one line of HTML.
#pragma once

#include <string>

namespace fwl {

// The last (or first) `longest` characters, with an ellipsis where it is cut; newlines become ↵.
std::string one_line(const std::string& text, size_t longest, bool keeps_end);

}  // namespace fwl
