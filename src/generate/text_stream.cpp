#include "generate/text_stream.h"

#include <algorithm>
#include <utility>

#include "tokenizer/utf8.h"

namespace fwl {
namespace {

// Tokens of context for decoding: a token's text depends on no more than these before it.
constexpr size_t joining_tokens = 4;

// The start of an incomplete UTF-8 character at the end of the text; the text's size if there is none.
size_t unfinished_character(std::string_view text) {
  const size_t longest = std::min<size_t>(3, text.size());
  for (size_t back = 1; back <= longest; ++back) {
    if (is_continuation(text[text.size() - back])) continue;
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    const size_t needed = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return byte < 0xF8 && needed > back ? text.size() - back : text.size();
  }
  return text.size();
}

// The start of the longest suffix of the text that is a prefix of `stop`; the text's size if there is none.
size_t possible_start(std::string_view text, std::string_view stop) {
  for (size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length)
    if (text.ends_with(stop.substr(0, length))) return text.size() - length;
  return text.size();
}

}  // namespace

TextStream::TextStream(const Tokenizer& tokenizer, std::span<const int64_t> before, std::vector<std::string> stops)
    : tokenizer_(tokenizer), stops_(std::move(stops)) {
  for (const auto token : before.last(std::min(before.size(), joining_tokens)))
    context_.push_back(static_cast<TokenId>(token));
  std::erase(stops_, std::string());
}

std::string TextStream::push(TokenId token) {
  if (is_stopped_) return {};
  const auto before = tokenizer_.decode(context_);
  context_.push_back(token);
  const auto after = tokenizer_.decode(context_);
  if (context_.size() > joining_tokens) context_.erase(context_.begin());
  held_ += after.substr(std::min(before.size(), after.size()));
  return release();
}

std::string TextStream::release() {
  size_t stop_at = held_.size();
  for (const auto& stop : stops_) {
    const auto found = held_.find(stop);
    if (found == std::string::npos) continue;
    is_stopped_ = true;
    stop_at = std::min(stop_at, found);
  }
  size_t certain = stop_at;
  if (!is_stopped_) {
    certain = unfinished_character(held_);
    for (const auto& stop : stops_) certain = std::min(certain, possible_start(held_, stop));
  }
  auto text = held_.substr(0, certain);
  held_.erase(0, is_stopped_ ? held_.size() : certain);
  return text;
}

std::string TextStream::finish() {
  return std::exchange(held_, {});
}

}  // namespace fwl
