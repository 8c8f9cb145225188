#include "tokenizer/piece_bpe_tokenizer.h"

#include <fmt/format.h>

#include "support/error.h"
#include "tokenizer/utf8.h"

namespace fwl {
namespace {

Digest hash_of(const BpeVocabulary& vocabulary, const SpaceMarks& marks) {
  Sha256 hash;
  const auto digest = vocabulary_hash(vocabulary);
  hash.update("fwl pieces 1\n");
  hash.update(digest.data(), digest.size());
  hash.update(fmt::format("{} {} {}", marks.replaces_spaces, static_cast<int>(marks.before), marks.splits));
  return hash.finish();
}

}  // namespace

PieceBpeTokenizer::PieceBpeTokenizer(std::string where, BpeVocabulary vocabulary, SpaceMarks marks)
    : where_(std::move(where)),
      is_added_(vocabulary.tokens.size()),
      merges_(vocabulary.merges.size()),
      marks_(std::move(marks)),
      ignores_merges_(vocabulary.ignores_merges),
      fuses_unknown_(vocabulary.fuses_unknown),
      unknown_(vocabulary.unknown),
      begin_(vocabulary.begin),
      end_(vocabulary.end),
      hash_(hash_of(vocabulary, marks_)) {
  if (marks_.removes_runs || !marks_.character_table.empty())
    fail(where_ + ": normalizer", "steps that mark spaces", "others", "not supported for BPE");
  tokens_ = std::move(vocabulary.tokens);
  for (size_t id = 0; id < tokens_.size(); ++id)
    if (!tokens_[id].empty()) id_of_.emplace(tokens_[id], static_cast<TokenId>(id));
  const auto id_of = [&](const std::string& name, size_t line) {
    const auto found = id_of_.find(name);
    if (found == id_of_.end())
      fail(fmt::format("{}: merge {}", where_, line + 1), "a token of the vocabulary", fmt::format("'{}'", name));
    return found->second;
  };
  for (size_t line = 0; line < vocabulary.merges.size(); ++line) {
    const auto& [left, right] = vocabulary.merges[line];
    if (!merges_.add(id_of(left, line), id_of(right, line), id_of(left + right, line)))
      fail(fmt::format("{}: merge {}", where_, line + 1), "every merge once",
           fmt::format("'{} {}' again", left, right));
  }
  read_bytes();
  if (end_) end_tokens_.push_back(*end_);
  for (const auto& token : vocabulary.added) {
    added_.add(token);
    is_added_[static_cast<size_t>(token.id)] = true;
    if (token.is_control()) id_of_.erase(token.content);
    if (ends_turn(token.content) && token.id != end_) end_tokens_.push_back(token.id);
  }
}

void PieceBpeTokenizer::read_bytes() {
  byte_of_id_.assign(tokens_.size(), -1);
  for (int byte = 0; byte < 256; ++byte) {
    const auto found = id_of_.find(fmt::format("<0x{:02X}>", byte));
    id_of_byte_[static_cast<size_t>(byte)] = found == id_of_.end() ? -1 : found->second;
    if (found != id_of_.end()) byte_of_id_[static_cast<size_t>(found->second)] = static_cast<int16_t>(byte);
  }
}

void PieceBpeTokenizer::encode_marked(std::string_view text, Markup markup, std::vector<TokenId>& ids) const {
  EncodeBudget budget(where_, text.size());
  added_.split(
      text, markup, budget, [&](std::string_view part) { encode_part(part, part.data() == text.data(), budget, ids); },
      [&](TokenId id) { ids.push_back(id); });
}

void PieceBpeTokenizer::encode_part(std::string_view part, bool is_first, EncodeBudget& budget,
                                    std::vector<TokenId>& ids) const {
  const auto text = marks_.marked(part, is_first);
  if (!marks_.splits) return encode_piece(text, ids);
  for (size_t start = 0; start < text.size();) {
    const auto end = std::min(text.find(space_mark, start + 1), text.size());
    budget.spend();
    encode_piece(std::string_view(text).substr(start, end - start), ids);
    start = end;
  }
}

void PieceBpeTokenizer::encode_piece(std::string_view piece, std::vector<TokenId>& ids) const {
  if (ignores_merges_) {
    const auto whole = id_of_.find(piece);
    if (whole != id_of_.end()) return ids.push_back(whole->second);
  }
  std::vector<TokenId> symbols;
  bool is_after_unknown = false;
  while (!piece.empty()) {
    const auto point = first_code_point(piece);
    const auto character = piece.substr(0, std::max<size_t>(1, point.bytes));
    piece.remove_prefix(character.size());
    const auto found = id_of_.find(character);
    const bool is_known = found != id_of_.end();
    if (is_known) symbols.push_back(found->second);
    const bool is_unknown = !is_known && !append_bytes(character, symbols);
    if (is_unknown && unknown_ && !(is_after_unknown && fuses_unknown_)) symbols.push_back(*unknown_);
    is_after_unknown = is_unknown;
  }
  BpeMerges::Workspace workspace;
  merges_.apply(symbols, workspace);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

// False, and nothing is appended, if a byte has no token.
bool PieceBpeTokenizer::append_bytes(std::string_view character, std::vector<TokenId>& ids) const {
  for (const unsigned char byte : character)
    if (id_of_byte_[byte] < 0) return false;
  for (const unsigned char byte : character) ids.push_back(id_of_byte_[byte]);
  return true;
}

std::string PieceBpeTokenizer::decode(std::span<const TokenId> ids) const {
  std::string text;
  bool is_first = true;
  for (const auto id : ids) {
    if (id < 0 || id >= vocabulary_size())
      fail(where_ + ": decode", fmt::format("an id below {}", vocabulary_size()), fmt::format("{}", id));
    const auto index = static_cast<size_t>(id);
    if (byte_of_id_[index] >= 0) {
      text += static_cast<char>(byte_of_id_[index]);
    } else if (is_added_[index]) {
      text += tokens_[index];
    } else {
      std::string_view rest = tokens_[index];
      if (is_first && marks_.strips_decoded && rest.starts_with(space_mark)) rest.remove_prefix(space_mark.size());
      for (auto mark = rest.find(space_mark); mark != std::string_view::npos; mark = rest.find(space_mark)) {
        text += rest.substr(0, mark);
        text += ' ';
        rest.remove_prefix(mark + space_mark.size());
      }
      text += rest;
    }
    is_first = false;
  }
  return text;
}

}  // namespace fwl
