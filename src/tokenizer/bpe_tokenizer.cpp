#include "tokenizer/bpe_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.h"
#include "tokenizer/bpe_encoder.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/split_cut.h"

namespace fwl {

// All of it in an unambiguous form.
Digest vocabulary_hash(const BpeVocabulary& vocabulary) {
  Sha256 hash;
  const auto add_number = [&](int64_t number) { hash.update(&number, sizeof number); };
  const auto add_text = [&](std::string_view text) {
    add_number(static_cast<int64_t>(text.size()));
    hash.update(text);
  };
  hash.update("fwl bpe 1\n");
  add_number(static_cast<int64_t>(vocabulary.tokens.size()));
  for (const auto& token : vocabulary.tokens) add_text(token);
  add_number(static_cast<int64_t>(vocabulary.merges.size()));
  for (const auto& [left, right] : vocabulary.merges) {
    add_text(left);
    add_text(right);
  }
  auto added = vocabulary.added;
  std::sort(added.begin(), added.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  add_number(static_cast<int64_t>(added.size()));
  for (const auto& token : added) {
    add_number(token.id);
    add_text(token.content);
    add_number(token.is_single_word | token.takes_space_before << 1 | token.takes_space_behind << 2 |
               token.is_normalized << 3 | !token.is_control() << 4);
  }
  add_number(static_cast<int64_t>(vocabulary.splits.size()));
  for (const auto& step : vocabulary.splits) {
    add_text(step.pattern);
    add_number(step.is_literal | step.adds_space << 1 | step.drops_between << 2);
  }
  add_number(vocabulary.ignores_merges | vocabulary.is_nfc << 1 | vocabulary.fuses_unknown << 2);
  add_number(vocabulary.unknown.value_or(-1));
  return hash.finish();
}

BpeTokenizer::BpeTokenizer(std::string where, const BpeVocabulary& vocabulary)
    : where_(std::move(where)),
      merges_(vocabulary.merges.size()),
      pre_tokenizer_(where_, vocabulary.splits),
      ignores_merges_(vocabulary.ignores_merges),
      is_nfc_(vocabulary.is_nfc),
      fuses_unknown_(vocabulary.fuses_unknown),
      unknown_(vocabulary.unknown),
      begin_(vocabulary.begin),
      end_(vocabulary.end),
      hash_(vocabulary_hash(vocabulary)),
      pool_(std::make_unique<EncoderPool>()) {
  read_tokens(vocabulary);
  read_added(vocabulary);
  read_merges(vocabulary);
  read_bytes(vocabulary);
  read_cuts(vocabulary);
  // Plain text is never a control token, not even a piece of text that is spelled like one.
  for (const auto& token : vocabulary.added)
    if (token.is_control()) id_of_bytes_.erase(token.content);
}

BpeTokenizer::~BpeTokenizer() = default;

void BpeTokenizer::read_tokens(const BpeVocabulary& vocabulary) {
  const auto& names = vocabulary.tokens;
  bytes_of_id_.resize(names.size());
  id_of_bytes_.reserve(names.size());
  for (size_t id = 0; id < names.size(); ++id) {
    const auto bytes = bytes_from_names(names[id]);
    bytes_of_id_[id] = bytes ? *bytes : names[id];
    if (!bytes || names[id].empty()) continue;
    const auto [first, is_new] = id_of_bytes_.emplace(bytes_of_id_[id], static_cast<TokenId>(id));
    if (!is_new) fail(where_, "every token once", fmt::format("'{}' as {} and {}", names[id], first->second, id));
  }
}

void BpeTokenizer::read_added(const BpeVocabulary& vocabulary) {
  if (end_) end_tokens_.push_back(*end_);
  for (const auto& token : vocabulary.added) {
    if (ends_turn(token.content) && token.id != end_) end_tokens_.push_back(token.id);
    const auto label = fmt::format("{}: added token '{}'", where_, token.content);
    if (token.content.empty()) fail(label, "some content", "none");
    if (token.id < 0 || token.id >= vocabulary_size())
      fail(label, fmt::format("an id below {}", vocabulary_size()), fmt::format("{}", token.id));
    const auto& name = vocabulary.tokens[static_cast<size_t>(token.id)];
    if (name != token.content) fail(label, "an id of its own", fmt::format("{}, which is '{}'", token.id, name));
    // The content is plain text, not GPT-2's byte names; the two differ outside ASCII.
    auto& bytes = bytes_of_id_[static_cast<size_t>(token.id)];
    if (bytes != token.content) {
      id_of_bytes_.erase(bytes);
      bytes = token.content;
    }
    (token.is_normalized ? added_normalized_ : added_).add(token);
  }
}

void BpeTokenizer::read_merges(const BpeVocabulary& vocabulary) {
  const auto id_of = [&](const std::string& name, size_t line) {
    const auto bytes = bytes_from_names(name);
    const auto found = bytes ? id_of_bytes_.find(*bytes) : id_of_bytes_.end();
    if (found == id_of_bytes_.end())
      fail(fmt::format("{}: merge {}", where_, line + 1), "a token of the vocabulary", fmt::format("'{}'", name));
    return found->second;
  };
  for (size_t i = 0; i < vocabulary.merges.size(); ++i) {
    const auto& [left, right] = vocabulary.merges[i];
    if (!merges_.add(id_of(left, i), id_of(right, i), id_of(left + right, i)))
      fail(fmt::format("{}: merge {}", where_, i + 1), "every merge once", fmt::format("'{} {}' again", left, right));
  }
}

void BpeTokenizer::read_bytes(const BpeVocabulary& vocabulary) {
  const auto check_id = [&](std::optional<TokenId> id, const char* name) {
    if (id && (*id < 0 || *id >= vocabulary_size()))
      fail(fmt::format("{}: {}", where_, name), fmt::format("an id below {}", vocabulary_size()),
           fmt::format("{}", *id));
  };
  check_id(unknown_, "unknown token");
  check_id(begin_, "begin token");
  check_id(end_, "end token");
  int known = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const char letter = static_cast<char>(byte);
    const auto found = id_of_bytes_.find(std::string_view(&letter, 1));
    known += found != id_of_bytes_.end();
    id_of_byte_[static_cast<size_t>(byte)] = found == id_of_bytes_.end() ? -1 : found->second;
  }
  if (known == 0) fail(where_, "a byte-level vocabulary, with a token for every byte", "none for any byte");
  is_lossless_ = known == 256 && !is_nfc_;
  for (const auto& step : vocabulary.splits) is_lossless_ &= !step.adds_space && !step.drops_between;
  for (const auto& token : vocabulary.added) is_lossless_ &= !token.takes_space_before && !token.takes_space_behind;
}

void BpeTokenizer::read_cuts(const BpeVocabulary& vocabulary) {
  const auto allow_at_most = [&](Cuts limit) { cuts_ = std::min(cuts_, limit); };
  if (fuses_unknown_ || vocabulary.splits.empty()) allow_at_most(Cuts::nowhere);
  for (const auto& step : vocabulary.splits) {
    if (step.is_literal || !is_published(step)) allow_at_most(Cuts::nowhere);
    if (step.adds_space) allow_at_most(Cuts::before_spaces);
  }
  constexpr auto white_space = " \t\n\v\f\r";
  for (const auto& token : vocabulary.added) {
    const auto first = token.content.find_first_not_of(white_space);
    const bool may_go_over_a_cut =
        first != std::string::npos && token.content.find_first_of(white_space, first) != std::string::npos;
    if (may_go_over_a_cut || token.takes_space_behind) allow_at_most(Cuts::nowhere);
    if (token.takes_space_before) allow_at_most(Cuts::before_spaces);
  }
}

size_t BpeTokenizer::safe_cut(std::string_view text) const {
  return cuts_ == Cuts::nowhere ? 0 : last_split_cut(text, cuts_ == Cuts::before_spaces);
}

void BpeTokenizer::encode_marked(std::string_view text, Markup markup, std::vector<TokenId>& ids) const {
  auto encoder = pool_->take();
  encoder->encode(*this, text, markup, ids);
  pool_->give_back(std::move(encoder));
}

std::string BpeTokenizer::decode(std::span<const TokenId> ids) const {
  std::string text;
  for (const auto id : ids) {
    if (id < 0 || id >= vocabulary_size())
      fail(where_ + ": decode", fmt::format("an id below {}", vocabulary_size()), fmt::format("{}", id));
    text += bytes_of_id_[static_cast<size_t>(id)];
  }
  return text;
}

std::string BpeTokenizer::missing_bytes() const {
  std::string bytes;
  for (size_t byte = 0; byte < 256; ++byte)
    if (id_of_byte_[byte] < 0) bytes += static_cast<char>(byte);
  return bytes;
}

}  // namespace fwl
