// BPE over characters instead of bytes, in the style of SentencePiece: spaces are marks, and characters without a token
// become bytes. The tokenizer.json of Llama 2, Mistral, Gemma and Phi-3.
#pragma once

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "tokenizer/bpe_tokenizer.h"
#include "tokenizer/space_marks.h"

namespace fwl {

class PieceBpeTokenizer : public Tokenizer {
 public:
  // Token names are plain text, but for bytes: "<0x41>". Throws UserError.
  PieceBpeTokenizer(std::string where, BpeVocabulary vocabulary, SpaceMarks marks);

  std::string kind() const override { return "bpe"; }
  int64_t vocabulary_size() const override { return static_cast<int64_t>(tokens_.size()); }

  void encode_marked(std::string_view text, Markup markup, std::vector<TokenId>& ids) const override;
  std::string decode(std::span<const TokenId> ids) const override;

  std::optional<TokenId> begin_token() const override { return begin_; }
  std::optional<TokenId> end_token() const override { return end_; }
  std::vector<TokenId> end_tokens() const override { return end_tokens_; }
  size_t safe_cut(std::string_view) const override { return 0; }  // merges may cross any character
  Digest hash() const override { return hash_; }

 private:
  void read_bytes();
  void encode_part(std::string_view part, bool is_first, EncodeBudget& budget, std::vector<TokenId>& ids) const;
  void encode_piece(std::string_view piece, std::vector<TokenId>& ids) const;
  bool append_bytes(std::string_view character, std::vector<TokenId>& ids) const;

  std::string where_;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string_view, TokenId> id_of_;  // views into tokens_; control tokens are not in it
  std::array<TokenId, 256> id_of_byte_ = {};             // -1: none
  std::vector<int16_t> byte_of_id_;                      // -1: not a byte
  std::vector<bool> is_added_;
  AddedTokenFinder added_;
  BpeMerges merges_;
  SpaceMarks marks_;
  bool ignores_merges_, fuses_unknown_;
  std::optional<TokenId> unknown_, begin_, end_;
  std::vector<TokenId> end_tokens_;
  Digest hash_;
};

}  // namespace fwl
