// The merge loop of byte-level BPE: repeatedly joins the neighbours whose merge was learned first.
#pragma once

#include <cstdint>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace fwl {

class BpeMerges {
 public:
  struct Workspace {
    std::vector<uint32_t> ranks;
    struct Symbol {
      TokenId id;
      int32_t before, behind;
    };
    struct Candidate {
      uint32_t rank;
      int32_t left;
      TokenId left_id, right_id;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };

  explicit BpeMerges(size_t count);
  // Merges are added in the order in which they were learned. Returns false if the pair exists already.
  bool add(TokenId left, TokenId right, TokenId merged);

  // Applies merges in the order in which they were learned, leftmost first. Changes `ids` in place.
  void apply(std::vector<TokenId>& ids, Workspace& workspace) const;

 private:
  struct Merge {
    uint64_t pair = no_pair;
    uint32_t rank = 0;
    TokenId merged = 0;
  };
  static constexpr uint64_t no_pair = ~uint64_t{0};
  static constexpr uint32_t no_rank = ~uint32_t{0};

  const Merge* find(TokenId left, TokenId right) const;
  uint32_t rank_of(TokenId left, TokenId right) const;
  void apply_to_few(std::vector<TokenId>& ids, Workspace& workspace) const;
  void apply_to_many(std::vector<TokenId>& ids, Workspace& workspace) const;

  std::vector<Merge> table_;  // open addressing, at most half full
  int shift_;
  uint32_t count_ = 0;
};

}  // namespace fwl
