#include "tokenizer/split_cut.h"

#include <cstdint>

#include "tokenizer/utf8.h"

namespace fwl {
namespace {

constexpr uint32_t no_character = 0xFFFFFFFF;

size_t encoded_length(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// The character that starts at `at`, or no_character if there is no valid one.
uint32_t character_at(std::string_view text, size_t at) {
  const auto lead = static_cast<uint8_t>(text[at]);
  if (lead < 0x80) return lead;
  const size_t length = encoded_length(text[at]);
  if (lead < 0xC2 || lead > 0xF4 || text.size() - at < length) return no_character;
  uint32_t character = lead & (0xFFU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[at + i])) return no_character;
    character = character << 6 | (static_cast<uint8_t>(text[at + i]) & 0x3FU);
  }
  constexpr uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = character >= 0xD800 && character <= 0xDFFF;
  return character < smallest[length] || character > 0x10FFFF || is_surrogate ? no_character : character;
}

// The character that ends right before `end`.
uint32_t character_before(std::string_view text, size_t end) {
  for (size_t length = 1; length <= 4 && length <= end; ++length) {
    if (is_continuation(text[end - length])) continue;
    return encoded_length(text[end - length]) == length ? character_at(text, end - length) : no_character;
  }
  return no_character;
}

// False for invalid UTF-8, control characters, and everything that is whitespace in any version of Unicode.
bool is_solid(uint32_t character) {
  if (character <= 0x20 || character == no_character) return false;
  if (character < 0x7F) return true;
  const bool is_space = character <= 0xA0 || character == 0x1680 || character == 0x180E ||
                        (character >= 0x2000 && character <= 0x200F) || character == 0x2028 || character == 0x2029 ||
                        character == 0x202F || (character >= 0x205F && character <= 0x2064) || character == 0x3000 ||
                        character == 0xFEFF;
  return !is_space;
}

bool is_cut_before_space(std::string_view text, size_t at) {
  return text[at] == ' ' && is_solid(character_before(text, at));
}

bool is_cut_after_newline(std::string_view text, size_t at) {
  return at >= 2 && text[at - 1] == '\n' && text[at] != '/' && is_solid(character_at(text, at)) &&
         is_solid(character_before(text, at - 1));
}

}  // namespace

size_t last_split_cut(std::string_view text, bool only_before_spaces) {
  for (size_t at = text.size(); at-- > 1;) {
    if (is_cut_before_space(text, at)) return at;
    if (!only_before_spaces && is_cut_after_newline(text, at)) return at;
  }
  return 0;
}

}  // namespace fwl
