#include "tokenizer/sentencepiece_tokenizer.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include "support/error.h"
#include "tokenizer/sentencepiece_check.h"
#include "tokenizer/sentencepiece_log.h"
#include "tokenizer/space_marks.h"

namespace fwl {

SentencePieceTokenizer::SentencePieceTokenizer(std::string where, std::string_view model, bool adds_missing_space)
    : where_(std::move(where)),
      adds_missing_space_(adds_missing_space),
      processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  silence_sentencepiece();
  check_sentencepiece_model(where_, model);
  std::string problem;
  try {
    const auto status = processor_->LoadFromSerializedProto(model);
    if (!status.ok()) problem = status.message();
  } catch (const std::exception& error) {  // the library throws for pieces that it has no other error for
    problem = error.what();
  }
  if (!problem.empty()) fail(where_, "a SentencePiece model", "something else", problem);
  Sha256 hash;
  hash.update("fwl sentencepiece\n");
  hash.update(model);
  if (adds_missing_space_) hash.update("adds missing space\n");
  hash_ = hash.finish();
  for (int id = 0; id < processor_->GetPieceSize(); ++id) {
    const auto& piece = processor_->IdToPiece(id);
    if (processor_->IsControl(id) && !piece.empty()) control_.add({.id = id, .content = piece});
    if (!processor_->IsUnused(id) && ends_turn(piece)) turn_ends_.push_back(id);
  }
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

int64_t SentencePieceTokenizer::vocabulary_size() const {
  return processor_->GetPieceSize();
}

void SentencePieceTokenizer::encode_marked(std::string_view text, Markup markup, std::vector<TokenId>& ids) const {
  if (markup.empty()) return encode_part(text, ids);
  EncodeBudget budget(where_, text.size());
  control_.split(
      text, markup, budget, [&](std::string_view part) { encode_part(part, ids); },
      [&](TokenId id) { ids.push_back(id); });
}

void SentencePieceTokenizer::encode_part(std::string_view text, std::vector<TokenId>& ids) const {
  std::vector<int> pieces;
  const bool lacks_space =
      adds_missing_space_ && !text.empty() && !text.starts_with(' ') && !text.starts_with(space_mark);
  const auto status =
      lacks_space ? processor_->Encode(" " + std::string(text), &pieces) : processor_->Encode(text, &pieces);
  if (!status.ok()) fail(where_ + ": encode", "a text", "an error", status.message());
  ids.insert(ids.end(), pieces.begin(), pieces.end());
}

std::string SentencePieceTokenizer::decode(std::span<const TokenId> ids) const {
  for (const auto id : ids)
    if (id < 0 || id >= vocabulary_size())
      fail(where_ + ": decode", fmt::format("an id below {}", vocabulary_size()), fmt::format("{}", id));
  std::string text;
  const auto status = processor_->Decode(std::vector<int>(ids.begin(), ids.end()), &text);
  if (!status.ok()) fail(where_ + ": decode", "ids of a text", "an error", status.message());
  if (adds_missing_space_ && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

std::optional<TokenId> SentencePieceTokenizer::begin_token() const {
  const auto id = processor_->bos_id();
  return id < 0 ? std::nullopt : std::optional<TokenId>(id);
}

std::optional<TokenId> SentencePieceTokenizer::end_token() const {
  const auto id = processor_->eos_id();
  return id < 0 ? std::nullopt : std::optional<TokenId>(id);
}

std::vector<TokenId> SentencePieceTokenizer::end_tokens() const {
  auto ends = Tokenizer::end_tokens();
  for (const auto id : turn_ends_)
    if (ends.empty() || id != ends.front()) ends.push_back(id);
  return ends;
}

std::string SentencePieceTokenizer::text_of(TokenId id) const {
  return processor_->IdToPiece(id);
}

}  // namespace fwl
