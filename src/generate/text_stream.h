// Tokens to text while they come: whole characters only, and nothing that may yet turn out to be a stop text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace fwl {

class TextStream {
 public:
  // `before`: the tokens that the text goes on from; what joins two tokens depends on the one before.
  TextStream(const Tokenizer& tokenizer, std::span<const int64_t> before, std::vector<std::string> stops);

  std::string push(TokenId token);                 // the text that is certain now
  std::string finish();                            // what was held back
  bool is_stopped() const { return is_stopped_; }  // a stop text came; it and what follows is left out

 private:
  std::string taken();  // of held_, what can no longer become part of a stop text

  const Tokenizer& tokenizer_;
  std::vector<TokenId> context_;
  std::vector<std::string> stops_;
  std::string held_;
  bool is_stopped_ = false;
};

}  // namespace fwl
