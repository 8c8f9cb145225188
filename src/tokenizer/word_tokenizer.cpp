#include "tokenizer/word_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.h"

namespace fwl {
namespace {

constexpr std::string_view end_of_line = "<eos>", unknown_word = "<unk>", word_breaks = " \t\v\f\r\n";

bool is_white(char letter) {
  return word_breaks.find(letter) != std::string_view::npos;
}

}  // namespace

WordTokenizer::WordTokenizer(std::string where, std::vector<WordCount> words)
    : where_(std::move(where)), words_(std::move(words)) {
  ids_.reserve(words_.size());
  for (size_t i = 0; i < words_.size(); ++i) {
    const std::string_view word = words_[i].word;
    const auto line = fmt::format("{}:{}", where_, i + 1);
    if (word.empty()) fail(line, "a word", "nothing");
    if (word.find_first_of(word_breaks) != std::string_view::npos)
      fail(line, "a word without white space", fmt::format("'{}'", word));
    const auto [first, is_new] = ids_.emplace(word, static_cast<TokenId>(i));
    if (!is_new) fail(line, "every word once", fmt::format("'{}' again after line {}", word, first->second + 1));
  }
  const auto eos = ids_.find(end_of_line), unknown = ids_.find(unknown_word);
  if (eos == ids_.end()) fail(where_, "<eos>, the end of a line", "none", "is this a word vocabulary?");
  eos_ = eos->second;
  if (unknown != ids_.end()) unknown_ = unknown->second;
}

TokenId WordTokenizer::id_of(std::string_view word, std::string_view text) const {
  const auto found = ids_.find(word);
  if (found != ids_.end()) return found->second;
  if (unknown_) return *unknown_;
  const auto line = std::count(text.data(), word.data(), '\n') + 1;
  fail(fmt::format("{}: line {} of the text", where_, line), "a word of the vocabulary", fmt::format("'{}'", word),
       "this vocabulary has no <unk>; build it from this text, or with --min-count");
}

void WordTokenizer::encode_marked(std::string_view text, Markup, std::vector<TokenId>& ids) const {
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '\n') {
      ids.push_back(eos_);
      ++i;
    } else if (is_white(text[i])) {
      ++i;
    } else {
      const auto end = std::min(text.find_first_of(word_breaks, i), text.size());
      ids.push_back(id_of(text.substr(i, end - i), text));
      i = end;
    }
  }
}

std::string WordTokenizer::decode(std::span<const TokenId> ids) const {
  std::string text;
  bool is_line_start = true;
  for (const auto id : ids) {
    if (id < 0 || id >= vocabulary_size())
      fail(where_ + ": decode", fmt::format("an id below {}", vocabulary_size()), fmt::format("{}", id));
    if (id == eos_) {
      text += '\n';
    } else {
      if (!is_line_start) text += ' ';
      text += words_[static_cast<size_t>(id)].word;
    }
    is_line_start = id == eos_;
  }
  return text;
}

Digest WordTokenizer::hash() const {
  Sha256 hash;
  hash.update("fwl words\n");
  for (const auto& entry : words_) {
    hash.update(entry.word);
    hash.update("\n");
  }
  return hash.finish();
}

}  // namespace fwl
