// The smallest vocabulary: every byte is its own token (enwik8).
#pragma once

#include "tokenizer/tokenizer.h"

namespace fwl {

class ByteTokenizer : public Tokenizer {
 public:
  std::string kind() const override { return "byte"; }
  int64_t vocabulary_size() const override { return 256; }

  void encode_marked(std::string_view text, Markup markup, std::vector<TokenId>& ids) const override;
  std::string decode(std::span<const TokenId> ids) const override;

  size_t safe_cut(std::string_view text) const override { return text.size(); }
  Digest hash() const override;
};

}  // namespace fwl
