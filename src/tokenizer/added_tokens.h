// Tokens that are found in the text as they are, before it is split: <|endoftext|> and its kind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace fwl {

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool is_special = true;
  bool is_single_word = false;  // counts only between characters that are not part of a word
  bool takes_space_before = false;
  bool takes_space_behind = false;
  bool is_normalized = false;  // looked for in the normalized text, after those that are not

  bool operator==(const AddedToken&) const = default;
};

// Finds the leftmost, and there the longest, of a set of tokens.
class AddedTokenFinder {
 public:
  struct Found {
    size_t start = 0, end = 0;  // with the white space that the token takes
    TokenId id = 0;
  };

  void add(const AddedToken& token);
  bool empty() const { return tokens_.empty(); }

  // Calls between(text) for what is between tokens (if not empty) and token(id), in order.
  template <class Between, class Token>
  void split(std::string_view text, Between&& between, Token&& token) const {
    size_t done = 0, from = 0;
    for (Found found; find(text, from, done, found); done = found.end) {
      if (found.start > done) between(text.substr(done, found.start - done));
      token(found.id);
    }
    if (done < text.size()) between(text.substr(done));
  }

 private:
  // Advances `from` behind the match; white space before `done` belongs to an earlier token.
  bool find(std::string_view text, size_t& from, size_t done, Found& found) const;
  const AddedToken* longest_at(std::string_view text, size_t start) const;

  std::vector<AddedToken> tokens_;
  std::unordered_map<uint64_t, uint32_t> edges_;  // a trie: node << 8 | byte -> node
  std::vector<int32_t> token_at_node_ = {-1};
  std::vector<bool> is_first_byte_ = std::vector<bool>(256);
  std::string first_bytes_;
};

}  // namespace fwl
