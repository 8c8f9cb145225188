// Decodes tokens as they are generated. Holds back incomplete characters and possible beginnings of a stop text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace fwl {

class TextStream {
 public:
  // `before`: the preceding tokens; a token's text can depend on them.
  TextStream(const Tokenizer& tokenizer, std::span<const int64_t> before, std::vector<std::string> stops);

  std::string push(TokenId token);                 // text that can be shown now
  std::string finish();                            // text that was held back
  bool is_stopped() const { return is_stopped_; }  // a stop text occurred; it and later text are dropped

 private:
  std::string release();  // removes from held_ what cannot be part of a stop text or an incomplete character

  const Tokenizer& tokenizer_;
  std::vector<TokenId> context_;
  std::vector<std::string> stops_;
  std::string held_;
  bool is_stopped_ = false;
};

}  // namespace fwl
