// The interface of all tokenizers: bytes to token ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/sha256.h"
#include "tokenizer/marked_text.h"

namespace fwl {

using TokenId = int32_t;

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::string kind() const = 0;  // "word", "byte", "bpe", "sentencepiece"
  virtual int64_t vocabulary_size() const = 0;

  // Appends the ids of `text`. Calls are independent, and no begin or end token is added. Control tokens such as
  // <|im_start|> are found only in markup; elsewhere their characters are text like any other.
  virtual void encode_marked(std::string_view text, Markup markup, std::vector<TokenId>& ids) const = 0;
  virtual std::string decode(std::span<const TokenId> ids) const = 0;

  virtual std::optional<TokenId> begin_token() const { return std::nullopt; }
  virtual std::optional<TokenId> end_token() const { return std::nullopt; }
  // Tokens that end an answer: the end token, and those that end a turn of a conversation.
  virtual std::vector<TokenId> end_tokens() const;
  // A token as chat templates spell it.
  virtual std::string text_of(TokenId id) const { return decode({&id, 1}); }
  bool ends_answer(TokenId id) const;  // whether it is one of end_tokens()
  // The text without an end token at its start, if that was generated already: `last`.
  std::string_view without_end(std::string_view text, TokenId last) const;

  // The longest known prefix of `text` after which encoding can restart: whatever follows `text`, the ids of the prefix
  // and of the rest, concatenated, are the ids of the whole. 0 if there is none. By default the end of the last line.
  virtual size_t safe_cut(std::string_view text) const { return text.rfind('\n') + 1; }

  // True if each line of a corpus is encoded separately, because the vocabulary was trained on lines. What encode adds
  // at the start of a text is then added to every line, and ids do not depend on how a corpus is cut into blocks.
  virtual bool is_by_line() const { return false; }

  // A hash of everything that ids depend on: equal for tokenizers that give equal ids.
  virtual Digest hash() const = 0;

  // Plain text, as it comes from users and documents: no part of it becomes a control token.
  void encode(std::string_view text, std::vector<TokenId>& ids) const { encode_marked(text, {}, ids); }
  std::vector<TokenId> encode(std::string_view text) const {
    std::vector<TokenId> ids;
    encode(text, ids);
    return ids;
  }
  std::vector<TokenId> encode(const MarkedText& text) const {
    std::vector<TokenId> ids;
    encode_marked(text.text(), text.markup(), ids);
    return ids;
  }
};

// Opens any vocabulary: "bytes", a tokenizer.json, a folder that holds one (or vocab.json + merges.txt, or
// tokenizer.model, or a word vocabulary), a GGUF file, a SentencePiece .model, a word vocabulary .vocab.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path);

}  // namespace fwl
