#include "report/text_line.h"

#include <algorithm>
#include <vector>

#include "report/html.h"
#include "support/printable.h"

namespace fwl {
namespace {

// Splits a text into characters; an invalid byte counts as one.
std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> characters;
  while (!text.empty()) {
    const auto length = std::max<size_t>(1, utf8_length(text));
    characters.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return characters;
}

}  // namespace

std::string one_line(const std::string& text, size_t longest, bool keeps_end) {
  const auto all = characters_of(text);
  const size_t count = std::min(longest, all.size()), first = keeps_end ? all.size() - count : 0;
  std::string line;
  for (size_t index = first; index < first + count; ++index) line += all[index] == "\n" ? "↵" : all[index];
  const char* cut = all.size() > count ? "…" : "";
  return keeps_end ? cut + escape_html(line) : escape_html(line) + cut;
}

}  // namespace fwl
