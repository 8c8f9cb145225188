#include "tokenizer/marked_text.h"

#include <algorithm>
#include <utility>

namespace fwl {
namespace {

// The first range that ends behind `start`.
auto first_behind(Markup markup, size_t start) {
  return std::partition_point(markup.begin(), markup.end(), [&](const TextRange& range) { return range.end <= start; });
}

}  // namespace

bool is_markup(Markup markup, size_t start, size_t end) {
  const auto found = first_behind(markup, start);
  return found != markup.end() && found->start <= start && end <= found->end;
}

std::vector<TextRange> markup_of_part(Markup markup, size_t start, size_t end) {
  std::vector<TextRange> part;
  for (auto range = first_behind(markup, start); range != markup.end() && range->start < end; ++range)
    part.push_back({std::max(range->start, start) - start, std::min(range->end, end) - start});
  return part;
}

MarkedText MarkedText::plain(std::string text) {
  MarkedText result;
  result.text_ = std::move(text);
  return result;
}

MarkedText MarkedText::all_markup(std::string text) {
  auto result = plain(std::move(text));
  result.add_markup({0, result.size()});
  return result;
}

MarkedText MarkedText::made_from(const MarkedText& source, std::string text) {
  return is_markup(source.markup_, 0, source.size()) ? all_markup(std::move(text)) : plain(std::move(text));
}

void MarkedText::add_markup(TextRange range) {
  if (range.start == range.end) return;
  if (!markup_.empty() && markup_.back().end == range.start)
    markup_.back().end = range.end;
  else
    markup_.push_back(range);
}

MarkedText MarkedText::part(std::string_view view) const {
  const auto start = static_cast<size_t>(view.data() - text_.data());
  auto result = plain(std::string(view));
  result.markup_ = markup_of_part(markup_, start, start + view.size());
  return result;
}

MarkedText& MarkedText::operator+=(const MarkedText& other) {
  const auto offset = text_.size();
  text_ += other.text_;
  for (const auto& range : other.markup_) add_markup({range.start + offset, range.end + offset});
  return *this;
}

}  // namespace fwl
