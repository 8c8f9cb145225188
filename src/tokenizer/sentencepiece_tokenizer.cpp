#include "tokenizer/sentencepiece_tokenizer.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include "support/error.h"
#include "tokenizer/sentencepiece_check.h"
#include "tokenizer/sentencepiece_log.h"

namespace fwl {

SentencePieceTokenizer::SentencePieceTokenizer(std::string where, std::string_view model)
    : where_(std::move(where)), processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  silence_sentencepiece();
  check_sentencepiece_model(where_, model);
  const auto status = processor_->LoadFromSerializedProto(model);
  if (!status.ok()) fail(where_, "a SentencePiece model", "something else", status.message());
  Sha256 hash;
  hash.update("fwl sentencepiece\n");
  hash.update(model);
  hash_ = hash.finish();
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

int64_t SentencePieceTokenizer::vocabulary_size() const {
  return processor_->GetPieceSize();
}

void SentencePieceTokenizer::encode_marked(std::string_view text, Markup, std::vector<TokenId>& ids) const {
  std::vector<int> pieces;
  const auto status = processor_->Encode(text, &pieces);
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

}  // namespace fwl
