// A text in which markup and plain text are told apart: only markup may spell control tokens such as <|im_start|>.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fwl {

struct TextRange {
  size_t start = 0, end = 0;

  bool operator==(const TextRange&) const = default;
};

using Markup = std::span<const TextRange>;  // sorted, without empty or touching ranges

// Whether start to end is inside one range.
bool is_markup(Markup markup, size_t start, size_t end);

// The markup of the part of a text from `start` to `end`, counted from `start`.
std::vector<TextRange> markup_of_part(Markup markup, size_t start, size_t end);

class MarkedText {
 public:
  MarkedText() = default;
  static MarkedText plain(std::string text);
  static MarkedText all_markup(std::string text);
  // `text` was made from `source`: all of it is plain, unless all of the source is markup.
  static MarkedText made_from(const MarkedText& source, std::string text);

  const std::string& text() const { return text_; }
  size_t size() const { return text_.size(); }
  Markup markup() const { return markup_; }

  // The part that `view`, a view into text(), shows.
  MarkedText part(std::string_view view) const;
  MarkedText& operator+=(const MarkedText& other);

 private:
  void add_markup(TextRange range);

  std::string text_;
  std::vector<TextRange> markup_;
};

}  // namespace fwl
