#include "tokenizer/added_tokens.h"

#include <algorithm>

#include "tokenizer/split_pattern.h"
#include "tokenizer/utf8.h"

namespace fwl {
namespace {

bool is_white_space(char32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_word_character(CodePoint point) {
  static const SplitPattern pattern("added tokens", R"([\p{L}\p{M}\p{N}\p{Pc}\x{200C}\x{200D}])");
  if (point.bytes == 0) return false;
  std::string text;
  append_utf8(point.value, text);
  SplitPattern::Workspace workspace;
  SplitPattern::Match match;
  return pattern.find(text, 0, match, workspace);
}

bool stands_alone(std::string_view text, size_t start, size_t end) {
  return (start == 0 || !is_word_character(last_code_point(text.substr(0, start)))) &&
         (end == text.size() || !is_word_character(first_code_point(text.substr(end))));
}

size_t white_space_before(std::string_view text, size_t start, size_t limit) {
  while (start > limit) {
    const auto point = last_code_point(text.substr(limit, start - limit));
    if (point.bytes == 0 || !is_white_space(point.value)) break;
    start -= point.bytes;
  }
  return start;
}

size_t white_space_behind(std::string_view text, size_t end) {
  while (end < text.size()) {
    const auto point = first_code_point(text.substr(end));
    if (point.bytes == 0 || !is_white_space(point.value)) break;
    end += point.bytes;
  }
  return end;
}

}  // namespace

bool ends_turn(std::string_view content) {
  constexpr std::string_view names[] = {"<|im_end|>", "<end_of_turn>", "<|eot_id|>",     "<|eom_id|>",
                                        "<|end|>",    "<|endoftext|>", "<|end_of_text|>"};
  return std::ranges::find(names, content) != std::end(names);
}

void AddedTokenFinder::add(const AddedToken& token) {
  uint32_t node = 0;
  for (const unsigned char byte : token.content) {
    const auto [edge, is_new] = edges_.try_emplace(uint64_t{node} << 8 | byte, token_at_node_.size());
    if (is_new) token_at_node_.push_back(-1);
    node = edge->second;
  }
  token_at_node_[node] = static_cast<int32_t>(tokens_.size());
  tokens_.push_back(token);
  const auto first = static_cast<unsigned char>(token.content[0]);
  if (!is_first_byte_[first]) first_bytes_ += static_cast<char>(first);
  is_first_byte_[first] = true;
}

const AddedToken* AddedTokenFinder::longest_at(std::string_view text, Markup markup, EncodeBudget& budget,
                                               size_t start) const {
  const AddedToken* longest = nullptr;
  uint32_t node = 0;
  constexpr size_t bytes_per_step = 256;
  for (size_t i = start; i < text.size(); ++i) {
    if ((i - start) % bytes_per_step == bytes_per_step - 1) budget.spend();
    const auto edge = edges_.find(uint64_t{node} << 8 | static_cast<unsigned char>(text[i]));
    if (edge == edges_.end()) break;
    node = edge->second;
    if (token_at_node_[node] < 0) continue;
    const auto& token = tokens_[static_cast<size_t>(token_at_node_[node])];
    if (!token.is_control() || is_markup(markup, start, i + 1)) longest = &token;
  }
  return longest;
}

bool AddedTokenFinder::find(std::string_view text, Markup markup, EncodeBudget& budget, size_t& from, size_t done,
                            Found& found) const {
  while (from < text.size()) {
    if (first_bytes_.size() == 1) {
      from = text.find(first_bytes_[0], from);
      if (from == std::string_view::npos) return false;
    } else if (!is_first_byte_[static_cast<unsigned char>(text[from])]) {
      ++from;
      continue;
    }
    const auto start = from;
    const auto* token = longest_at(text, markup, budget, start);
    from = token ? start + token->content.size() : start + 1;
    if (!token || (token->is_single_word && !stands_alone(text, start, from))) continue;
    found = {start, from, token->id};
    if (token->takes_space_before) found.start = white_space_before(text, start, done);
    if (token->takes_space_behind) found.end = from = white_space_behind(text, from);
    return true;
  }
  return false;
}

}  // namespace fwl
