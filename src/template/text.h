// Operations on texts as templates know them from Python: by characters, with Unicode's white space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "template/meter.h"

namespace fwl {

bool is_python_space(char32_t character);

// One view per character; a byte that is no valid UTF-8 counts as one.
std::vector<std::string_view> characters_of(std::string_view text);
size_t count_characters(std::string_view text);

enum class TextEnd { start, end, both };

// Without `characters`: white space.
std::string_view strip_text(std::string_view text, TextEnd where, std::optional<std::string_view> characters = {});

// In linear time, unlike std::string_view::find. `npos` if there is none.
size_t find_text(std::string_view text, std::string_view part, size_t from = 0);

// Without `separator`: at runs of white space, without empty parts. At most `most` cuts, all if negative.
std::vector<std::string_view> split_text(TemplateMeter& meter, std::string_view text,
                                         std::optional<std::string_view> separator, int64_t most);

std::string replace_text(TemplateMeter& meter, std::string_view text, std::string_view part, std::string_view by,
                         int64_t most);

// Case by Unicode's mappings of one character to one.
std::string upper_text(std::string_view text);
std::string lower_text(std::string_view text);
std::string capitalized_text(std::string_view text);
std::string title_filter_text(std::string_view text);  // capitals after white space and opening brackets
std::string title_method_text(std::string_view text);  // capitals after everything that is no letter

}  // namespace fwl
