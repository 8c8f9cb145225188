// Python's string operations: by characters, with Unicode's white space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "template/meter.h"
#include "tokenizer/marked_text.h"

namespace fwl {

bool is_python_space(char32_t character);

// One view per character; an invalid byte counts as one.
std::vector<std::string_view> characters_of(std::string_view text);
size_t count_characters(std::string_view text);

enum class TextEnd { start, end, both };

// Strips white space if `characters` is missing.
std::string_view strip_text(std::string_view text, TextEnd where, std::optional<std::string_view> characters = {});

// Searches in linear time, unlike std::string_view::find. `npos` if there is no match.
size_t find_text(std::string_view text, std::string_view part, size_t from = 0);

// Without `separator`, splits at runs of white space and skips empty parts. At most `most` cuts; negative: no limit.
std::vector<std::string_view> split_text(TemplateMeter& meter, std::string_view text,
                                         std::optional<std::string_view> separator, int64_t most);

MarkedText replace_text(TemplateMeter& meter, const MarkedText& text, std::string_view part, const MarkedText& by,
                        int64_t most);

// Case by Unicode's one-to-one mappings.
std::string upper_text(std::string_view text);
std::string lower_text(std::string_view text);
std::string capitalized_text(std::string_view text);
std::string title_filter_text(std::string_view text);  // capitals after white space and opening brackets
std::string title_method_text(std::string_view text);  // capitals after everything that is not a letter

}  // namespace fwl
