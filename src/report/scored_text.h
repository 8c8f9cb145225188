// Decodes the tokens of a scored text into readable pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/token_file.h"

namespace fwl {

// Tokens [first, first + count) that form whole characters, with their text.
struct TextPiece {
  int64_t first = 0, count = 0;
  std::string text;
};

class ScoredText {
 public:
  // Throws a UserError if the tokens belong to another tokenizer, or have another hash.
  ScoredText(const std::string& tokens_path, const std::string& tokenizer_path, const std::string& data_hash);

  int64_t size() const { return tokens_.size(); }

  // The pieces of tokens [first, past), without those outside the text.
  std::string text(int64_t first, int64_t past) const;
  std::vector<TextPiece> pieces(int64_t first, int64_t past) const;

 private:
  std::vector<TokenId> ids(int64_t first, int64_t past) const;

  TokenFile tokens_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

}  // namespace fwl
