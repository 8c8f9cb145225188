#include "report/scored_text.h"

#include <algorithm>

#include "support/error.h"
#include "tokenizer/utf8.h"

namespace fwl {
namespace {

constexpr int64_t longest_piece = 8;  // tokens; limits a piece of invalid UTF-8

}  // namespace

ScoredText::ScoredText(const std::string& tokens_path, const std::string& tokenizer_path, const std::string& data_hash)
    : tokens_(tokens_path), tokenizer_(open_tokenizer(tokenizer_path)) {
  if (tokens_.tokenizer_hash() != tokenizer_->hash())
    fail(tokens_path, "tokens of " + tokenizer_path, "others", "tokenized with another vocabulary");
  if (to_hex(tokens_.ids_hash()) != data_hash) fail(tokens_path, "the text that was scored", "another one");
}

std::vector<TokenId> ScoredText::ids(int64_t first, int64_t past) const {
  first = std::clamp<int64_t>(first, 0, size());
  past = std::clamp<int64_t>(past, first, size());
  std::vector<TokenId> ids(static_cast<size_t>(past - first));
  tokens_.read(first, std::span<TokenId>(ids));
  return ids;
}

std::string ScoredText::text(int64_t first, int64_t past) const {
  return tokenizer_->decode(ids(first, past));
}

std::vector<TextPiece> ScoredText::pieces(int64_t first, int64_t past) const {
  // The text that a token adds to the text before it: decoded alone, some vocabularies would drop its space.
  const auto all = ids(first, past);
  std::vector<TextPiece> pieces;
  std::string before;
  TextPiece piece{first, 0, {}};
  for (size_t end = 1; end <= all.size(); ++end) {
    ++piece.count;
    auto text = tokenizer_->decode(std::span(all).first(end));
    piece.text = text.substr(std::min(before.size(), text.size()));
    const bool is_whole = text.starts_with(before) && valid_utf8_prefix(piece.text) == piece.text.size();
    if (!is_whole && piece.count < longest_piece && end < all.size()) continue;
    before = std::move(text);
    const int64_t next = piece.first + piece.count;
    pieces.push_back(std::move(piece));
    piece = {next, 0, {}};
  }
  return pieces;
}

}  // namespace fwl
