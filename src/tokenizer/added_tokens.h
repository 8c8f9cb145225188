// Finds added tokens such as <|endoftext|> in a text, before it is split.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizer/encode_budget.h"
#include "tokenizer/tokenizer.h"

namespace fwl {

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool is_special = true;
  bool is_single_word = false;  // matches only between characters that are not part of a word
  bool takes_space_before = false;
  bool takes_space_behind = false;
  bool is_normalized = false;  // searched in the normalized text, after the others

  // Control tokens such as <|im_start|> structure a prompt: they are found only in markup. Some files mark theirs as
  // ordinary tokens; the form <|…|> tells.
  bool is_control() const { return is_special || (content.starts_with("<|") && content.ends_with("|>")); }

  bool operator==(const AddedToken&) const = default;
};

// Whether a token with this text ends a turn of a conversation, in some published model.
bool ends_turn(std::string_view content);

// Finds the leftmost match of a set of tokens, and the longest at that position.
class AddedTokenFinder {
 public:
  struct Found {
    size_t start = 0, end = 0;  // including the white space that the token absorbs
    TokenId id = 0;
  };

  void add(const AddedToken& token);
  bool empty() const { return tokens_.empty(); }

  // Calls between(text) for text between tokens (if not empty) and token(id) for tokens, in order. Control tokens are
  // found only in `markup`.
  template <class Between, class Token>
  void split(std::string_view text, Markup markup, EncodeBudget& budget, Between&& between, Token&& token) const {
    size_t done = 0, from = 0;
    for (Found found; find(text, markup, budget, from, done, found); done = found.end) {
      if (found.start > done) between(text.substr(done, found.start - done));
      token(found.id);
    }
    if (done < text.size()) between(text.substr(done));
  }

 private:
  // Moves `from` past the match; white space before `done` belongs to an earlier token.
  bool find(std::string_view text, Markup markup, EncodeBudget& budget, size_t& from, size_t done, Found& found) const;
  const AddedToken* longest_at(std::string_view text, Markup markup, EncodeBudget& budget, size_t start) const;

  std::vector<AddedToken> tokens_;
  std::unordered_map<uint64_t, uint32_t> edges_;  // a trie: node << 8 | byte -> node
  std::vector<int32_t> token_at_node_ = {-1};
  std::vector<bool> is_first_byte_ = std::vector<bool>(256);
  std::string first_bytes_;
};

}  // namespace fwl
