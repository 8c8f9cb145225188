// Byte-level BPE, as in GPT-2, Llama 3, Qwen and SmolLM.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe_merges.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/tokenizer.h"

namespace fwl {

// A vocabulary as plain data, whatever file it came from.
struct BpeVocabulary {
  std::vector<std::string> tokens;                          // by id, in GPT-2's byte names; "": no token has this id
  std::vector<std::pair<std::string, std::string>> merges;  // in the order in which they were learned
  std::vector<AddedToken> added;
  std::vector<SplitStep> splits;
  bool ignores_merges = false;     // a piece that is a token becomes that token directly
  bool is_nfc = false;             // normalize text to Unicode's form C first
  std::optional<TokenId> unknown;  // replaces bytes that have no token; without it they are dropped
  bool fuses_unknown = false;      // one unknown token for a run of such bytes
  std::optional<TokenId> begin, end;
};

// A hash of everything that ids depend on.
Digest vocabulary_hash(const BpeVocabulary& vocabulary);

// encode finds added tokens, splits the rest into pieces, and merges the bytes within each piece. A byte outside valid
// UTF-8 is a piece of its own. encode is thread-safe.
class BpeTokenizer : public Tokenizer {
 public:
  // Throws a UserError if the vocabulary contradicts itself; `where` names it in errors.
  BpeTokenizer(std::string where, const BpeVocabulary& vocabulary);
  ~BpeTokenizer() override;

  std::string kind() const override { return "bpe"; }
  int64_t vocabulary_size() const override { return static_cast<int64_t>(bytes_of_id_.size()); }

  void encode_marked(std::string_view text, Markup markup, std::vector<TokenId>& ids) const override;
  std::string decode(std::span<const TokenId> ids) const override;

  std::optional<TokenId> begin_token() const override { return begin_; }
  std::optional<TokenId> end_token() const override { return end_; }
  std::vector<TokenId> end_tokens() const override { return end_tokens_; }
  // Nonzero only for the published split patterns (see split_cut.h); with others, a document must be encoded whole.
  size_t safe_cut(std::string_view text) const override;
  Digest hash() const override { return hash_; }

  // Bytes without a token, which encode drops or replaces by the unknown token, as Hugging Face's tokenizers does.
  // Some published vocabularies lack bytes that never occur in UTF-8, or control characters.
  std::string missing_bytes() const;
  // True if decode(encode(x)) == x for every byte string.
  bool is_lossless() const { return is_lossless_; }

 private:
  class Encoder;
  class EncoderPool;

  void read_tokens(const BpeVocabulary& vocabulary);
  void read_added(const BpeVocabulary& vocabulary);
  void read_merges(const BpeVocabulary& vocabulary);
  void read_bytes(const BpeVocabulary& vocabulary);
  void read_cuts(const BpeVocabulary& vocabulary);

  std::string where_;
  std::vector<std::string> bytes_of_id_;
  std::unordered_map<std::string_view, TokenId> id_of_bytes_;  // views into bytes_of_id_; only what merges can make
  std::array<TokenId, 256> id_of_byte_ = {};                   // -1: none
  AddedTokenFinder added_, added_normalized_;
  BpeMerges merges_;
  PreTokenizer pre_tokenizer_;
  bool ignores_merges_, is_nfc_, fuses_unknown_, is_lossless_ = false;
  enum class Cuts { nowhere, before_spaces, everywhere } cuts_ = Cuts::everywhere;
  std::optional<TokenId> unknown_, begin_, end_;
  std::vector<TokenId> end_tokens_;
  Digest hash_;
  std::unique_ptr<EncoderPool> pool_;
};

}  // namespace fwl
