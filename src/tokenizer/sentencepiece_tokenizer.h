// SentencePiece vocabularies (Llama 1 and 2, T5): opens them, and trains new ones from text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/progress.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/tokenizer.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace fwl {

// decode(encode(x)) == x for valid UTF-8 without U+2581 if the model falls back to bytes and does not normalize, which
// holds for models of train_sentencepiece. Other models normalize text as specified in the model.
class SentencePieceTokenizer : public Tokenizer {
 public:
  // `model` holds the bytes of a .model file. Throws UserError; `where` names it in errors. With `adds_missing_space`,
  // a text that does not start with a space gets one, besides what the model does; decoding takes it away.
  SentencePieceTokenizer(std::string where, std::string_view model, bool adds_missing_space = false);
  ~SentencePieceTokenizer() override;

  std::string kind() const override { return "sentencepiece"; }
  int64_t vocabulary_size() const override;

  void encode_marked(std::string_view text, Markup markup, std::vector<TokenId>& ids) const override;
  std::string decode(std::span<const TokenId> ids) const override;

  std::optional<TokenId> begin_token() const override;
  std::optional<TokenId> end_token() const override;
  std::vector<TokenId> end_tokens() const override;
  std::string text_of(TokenId id) const override;
  bool is_by_line() const override { return true; }
  Digest hash() const override { return hash_; }

 private:
  void encode_part(std::string_view text, std::vector<TokenId>& ids) const;

  std::string where_;
  bool adds_missing_space_;
  AddedTokenFinder control_;  // the library finds none of these in texts
  std::vector<TokenId> turn_ends_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  Digest hash_;
};

struct SentencePieceOptions {
  int64_t vocabulary_size = 8000;        // an upper limit: a small text gives fewer pieces
  std::string model_type = "unigram";    // or "bpe"
  double character_coverage = 0.9995;    // rarer characters become bytes
  int64_t max_text_bytes = 100'000'000;  // a larger text is sampled evenly by lines
};

// Trains a vocabulary on the lines of text files and writes it to `model_path` atomically. It does not normalize and
// falls back to bytes, so that encoding is lossless. The same text and options give the same model.
void train_sentencepiece(const std::vector<std::string>& text_files, const SentencePieceOptions& options,
                         const std::string& model_path, const ProgressReport& report = {});

}  // namespace fwl
