// Decodes UTF-8 that may be invalid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fwl {

struct CodePoint {
  char32_t value = 0;
  size_t bytes = 0;  // 0: no valid sequence starts here
};

inline bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// The code point at the start of a non-empty text. Rejects overlong forms, surrogates and values above U+10FFFF.
CodePoint first_code_point(std::string_view text);

// The last code point of a non-empty text of valid UTF-8.
CodePoint last_code_point(std::string_view text);

// The length of the longest prefix that is valid UTF-8.
size_t valid_utf8_prefix(std::string_view text);

void append_utf8(char32_t code_point, std::string& text);

}  // namespace fwl
