#include "template/text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "tokenizer/utf8.h"

namespace fwl {
namespace {

// The first character of a non-empty string; an invalid byte gets a value outside Unicode.
CodePoint first_character(std::string_view text) {
  const auto found = first_code_point(text);
  return found.bytes ? found : CodePoint{0x110000, 1};
}

CodePoint last_character(std::string_view text) {
  for (size_t bytes = 1; bytes <= std::min<size_t>(4, text.size()); ++bytes) {
    const auto found = first_code_point(text.substr(text.size() - bytes));
    if (found.bytes == bytes) return found;
  }
  return {0x110000, 1};
}

template <class Function>
void for_each_character(std::string_view text, Function function) {
  while (!text.empty()) {
    const auto character = text.substr(0, first_character(text).bytes);
    function(character);
    text.remove_prefix(character.size());
  }
}

enum class LetterCase { upper, lower };

void append_in_case(std::string_view character, LetterCase letter_case, std::string& result) {
  const auto found = first_code_point(character);
  if (!found.bytes) {
    result += character;
    return;
  }
  const auto value = static_cast<utf8proc_int32_t>(found.value);
  const auto mapped = letter_case == LetterCase::upper ? utf8proc_toupper(value) : utf8proc_tolower(value);
  append_utf8(static_cast<char32_t>(mapped), result);
}

std::string text_in_case(std::string_view text, LetterCase letter_case) {
  std::string result;
  for_each_character(text, [&](std::string_view character) { append_in_case(character, letter_case, result); });
  return result;
}

// `starts_word` says whether the character after this one starts a word.
template <class StartsWord>
std::string titled(std::string_view text, StartsWord starts_word) {
  std::string result;
  bool is_start = true;
  for_each_character(text, [&](std::string_view character) {
    append_in_case(character, is_start ? LetterCase::upper : LetterCase::lower, result);
    is_start = starts_word(first_character(character).value);
  });
  return result;
}

bool has_case(char32_t character) {
  const auto category = character < 0x110000 ? utf8proc_category(static_cast<utf8proc_int32_t>(character)) : 0;
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT;
}

std::vector<std::string_view> split_at_spaces(std::string_view text, int64_t most) {
  std::vector<std::string_view> parts;
  text = strip_text(text, TextEnd::start);
  while (!text.empty()) {
    size_t end = 0;
    if (most == 0) {
      parts.push_back(text);
      break;
    }
    while (end < text.size()) {
      const auto character = first_character(text.substr(end));
      if (is_python_space(character.value)) break;
      end += character.bytes;
    }
    parts.push_back(text.substr(0, end));
    text = strip_text(text.substr(end), TextEnd::start);
    --most;
  }
  return parts;
}

}  // namespace

bool is_python_space(char32_t character) {
  return (character >= 0x09 && character <= 0x0D) || (character >= 0x1C && character <= 0x20) || character == 0x85 ||
         character == 0xA0 || character == 0x1680 || (character >= 0x2000 && character <= 0x200A) ||
         character == 0x2028 || character == 0x2029 || character == 0x202F || character == 0x205F ||
         character == 0x3000;
}

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> characters;
  for_each_character(text, [&](std::string_view character) { characters.push_back(character); });
  return characters;
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for_each_character(text, [&](std::string_view) { ++count; });
  return count;
}

std::string_view strip_text(std::string_view text, TextEnd where, std::optional<std::string_view> characters) {
  std::set<std::string_view> wanted;
  if (characters) for_each_character(*characters, [&](std::string_view character) { wanted.insert(character); });
  const auto goes = [&](CodePoint character, std::string_view bytes) {
    return characters ? wanted.contains(bytes) : is_python_space(character.value);
  };
  while (where != TextEnd::end && !text.empty()) {
    const auto character = first_character(text);
    if (!goes(character, text.substr(0, character.bytes))) break;
    text.remove_prefix(character.bytes);
  }
  while (where != TextEnd::start && !text.empty()) {
    const auto character = last_character(text);
    if (!goes(character, text.substr(text.size() - character.bytes))) break;
    text.remove_suffix(character.bytes);
  }
  return text;
}

size_t find_text(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  const auto* found =
      static_cast<const char*>(memmem(text.data() + from, text.size() - from, part.data(), part.size()));
  return found ? static_cast<size_t>(found - text.data()) : std::string_view::npos;
}

std::vector<std::string_view> split_text(TemplateMeter& meter, std::string_view text,
                                         std::optional<std::string_view> separator, int64_t most) {
  meter.spend(text.size());  // an upper bound on the number of parts
  if (!separator) return split_at_spaces(text, most);
  if (separator->empty()) meter.fail("a separator", "an empty string");
  std::vector<std::string_view> parts;
  for (size_t start = 0;;) {
    const auto end = most == 0 ? std::string_view::npos : find_text(text, *separator, start);
    parts.push_back(text.substr(start, end == std::string_view::npos ? end : end - start));
    if (end == std::string_view::npos) return parts;
    start = end + separator->size();
    --most;
  }
}

MarkedText replace_text(TemplateMeter& meter, const MarkedText& text, std::string_view part, const MarkedText& by,
                        int64_t most) {
  if (part.empty()) meter.fail("a string to replace", "an empty one");
  meter.spend_bytes(text.size());
  const std::string_view all = text.text();
  MarkedText result;
  size_t start = 0;
  for (; most != 0; --most) {
    const auto end = find_text(all, part, start);
    if (end == std::string_view::npos) break;
    meter.spend(1 + by.size() / 16);
    result += text.part(all.substr(start, end - start));
    result += by;
    start = end + part.size();
  }
  return result += text.part(all.substr(start));
}

std::string upper_text(std::string_view text) {
  return text_in_case(text, LetterCase::upper);
}

std::string lower_text(std::string_view text) {
  return text_in_case(text, LetterCase::lower);
}

std::string capitalized_text(std::string_view text) {
  return titled(text, [](char32_t) { return false; });
}

std::string title_filter_text(std::string_view text) {
  return titled(text, [](char32_t character) {
    return is_python_space(character) || std::u32string_view(U"-({[<").find(character) != std::u32string_view::npos;
  });
}

std::string title_method_text(std::string_view text) {
  return titled(text, [](char32_t character) { return !has_case(character); });
}

}  // namespace fwl
