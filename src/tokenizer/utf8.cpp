#include "tokenizer/utf8.h"

#include <cstring>

namespace fwl {
namespace {

bool is_ascii(const char* eight_bytes) {
  uint64_t word = 0;
  std::memcpy(&word, eight_bytes, sizeof word);
  return (word & 0x8080808080808080U) == 0;
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  char32_t value = lead & (0x7FU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if (!is_continuation(text[i])) return {};
    value = value << 6 | (static_cast<uint8_t>(text[i]) & 0x3FU);
  }
  const bool is_overlong = (bytes == 3 && value < 0x800) || (bytes == 4 && value < 0x10000);
  const bool is_surrogate = value >= 0xD800 && value < 0xE000;
  if (is_overlong || is_surrogate || value > 0x10FFFF) return {};
  return {value, bytes};
}

CodePoint last_code_point(std::string_view text) {
  size_t start = text.size() - 1;
  while (start > 0 && is_continuation(text[start])) --start;
  return first_code_point(text.substr(start));
}

size_t valid_utf8_prefix(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    if (i + 8 <= text.size() && is_ascii(text.data() + i)) {
      i += 8;
      continue;
    }
    const auto bytes = first_code_point(text.substr(i)).bytes;
    if (bytes == 0) return i;
    i += bytes;
  }
  return i;
}

void append_utf8(char32_t code_point, std::string& text) {
  const auto add = [&](char32_t bits) { text += static_cast<char>(bits); };
  if (code_point < 0x80) {
    add(code_point);
  } else if (code_point < 0x800) {
    add(0xC0 | code_point >> 6);
    add(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    add(0xE0 | code_point >> 12);
    add(0x80 | (code_point >> 6 & 0x3F));
    add(0x80 | (code_point & 0x3F));
  } else {
    add(0xF0 | code_point >> 18);
    add(0x80 | (code_point >> 12 & 0x3F));
    add(0x80 | (code_point >> 6 & 0x3F));
    add(0x80 | (code_point & 0x3F));
  }
}

}  // namespace fwl
