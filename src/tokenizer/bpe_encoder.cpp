#include "tokenizer/bpe_encoder.h"

#include "tokenizer/nfc.h"
#include "tokenizer/utf8.h"

namespace fwl {
namespace {

// Markup and plain text are normalized apart, so that each keeps its place.
MarkedText normalized(std::string_view text, Markup markup) {
  MarkedText result;
  size_t done = 0;
  for (const auto [start, end] : markup) {
    result += MarkedText::plain(to_nfc(text.substr(done, start - done)));
    result += MarkedText::all_markup(to_nfc(text.substr(start, end - start)));
    done = end;
  }
  return result += MarkedText::plain(to_nfc(text.substr(done)));
}

}  // namespace

std::unique_ptr<BpeTokenizer::Encoder> BpeTokenizer::EncoderPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto encoder = std::move(idle_.back());
      idle_.pop_back();
      return encoder;
    }
  }
  return std::make_unique<Encoder>();
}

void BpeTokenizer::EncoderPool::give_back(std::unique_ptr<Encoder> encoder) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(encoder));
}

void BpeTokenizer::Encoder::encode(const BpeTokenizer& tokenizer, std::string_view text, Markup markup,
                                   std::vector<TokenId>& ids) {
  EncodeBudget budget(tokenizer.where_, text.size());
  split_.budget = &budget;
  try {
    encode_within(tokenizer, text, markup, budget, ids);
  } catch (...) {
    split_.budget = nullptr;
    throw;
  }
  split_.budget = nullptr;
}

void BpeTokenizer::Encoder::encode_within(const BpeTokenizer& tokenizer, std::string_view text, Markup markup,
                                          EncodeBudget& budget, std::vector<TokenId>& ids) {
  if (tokenizer.added_.empty()) return encode_between_added(tokenizer, text, markup, budget, ids);
  const auto encode_rest = [&](std::string_view rest) {
    const auto start = static_cast<size_t>(rest.data() - text.data());
    encode_between_added(tokenizer, rest, markup_of_part(markup, start, start + rest.size()), budget, ids);
  };
  tokenizer.added_.split(text, markup, budget, encode_rest, [&](TokenId id) { ids.push_back(id); });
}

void BpeTokenizer::Encoder::encode_between_added(const BpeTokenizer& tokenizer, std::string_view text, Markup markup,
                                                 EncodeBudget& budget, std::vector<TokenId>& ids) {
  if (tokenizer.is_nfc_ && !is_nfc(text)) {
    normalized_ = normalized(text, markup);
    text = normalized_.text();
    markup = normalized_.markup();
  }
  if (tokenizer.added_normalized_.empty()) return encode_plain(tokenizer, text, ids);
  tokenizer.added_normalized_.split(
      text, markup, budget, [&](std::string_view rest) { encode_plain(tokenizer, rest, ids); },
      [&](TokenId id) { ids.push_back(id); });
}

void BpeTokenizer::Encoder::encode_plain(const BpeTokenizer& tokenizer, std::string_view text,
                                         std::vector<TokenId>& ids) {
  while (!text.empty()) {
    const auto valid = valid_utf8_prefix(text);
    tokenizer.pre_tokenizer_.split(text.substr(0, valid), split_,
                                   [&](std::string_view piece) { encode_piece(tokenizer, piece, ids); });
    text.remove_prefix(valid);
    if (text.empty()) break;
    encode_piece(tokenizer, text.substr(0, 1), ids);
    text.remove_prefix(1);
  }
}

void BpeTokenizer::Encoder::encode_piece(const BpeTokenizer& tokenizer, std::string_view piece,
                                         std::vector<TokenId>& ids) {
  if (!PieceCache::can_hold(piece)) {
    merge_piece(tokenizer, piece);
    ids.insert(ids.end(), piece_ids_.begin(), piece_ids_.end());
    return;
  }
  const PieceCache::Key key(piece);
  if (const auto* entry = cache_.find(key)) {
    ids.insert(ids.end(), entry->ids.begin(), entry->ids.begin() + entry->count);
    return;
  }
  merge_piece(tokenizer, piece);
  cache_.put(key, piece_ids_);
  ids.insert(ids.end(), piece_ids_.begin(), piece_ids_.end());
}

void BpeTokenizer::Encoder::merge_piece(const BpeTokenizer& tokenizer, std::string_view piece) {
  piece_ids_.clear();
  if (tokenizer.ignores_merges_) {
    const auto whole = tokenizer.id_of_bytes_.find(piece);
    if (whole != tokenizer.id_of_bytes_.end()) return piece_ids_.push_back(whole->second);
  }
  bool is_after_unknown = false;
  for (const unsigned char byte : piece) {
    const auto id = tokenizer.id_of_byte_[byte];
    const bool is_unknown = id < 0;
    if (!is_unknown) {
      piece_ids_.push_back(id);
    } else if (tokenizer.unknown_ && !(is_after_unknown && tokenizer.fuses_unknown_)) {
      piece_ids_.push_back(*tokenizer.unknown_);
    }
    is_after_unknown = is_unknown;
  }
  tokenizer.merges_.apply(piece_ids_, merge_);
}

}  // namespace fwl
