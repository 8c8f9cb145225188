// The buffers and piece cache of one encoding thread for byte-level BPE, reused across calls.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tokenizer/bpe_tokenizer.h"
#include "tokenizer/piece_cache.h"

namespace fwl {

class BpeTokenizer::Encoder {
 public:
  void encode(const BpeTokenizer& tokenizer, std::string_view text, Markup markup, std::vector<TokenId>& ids);

 private:
  void encode_within(const BpeTokenizer& tokenizer, std::string_view text, Markup markup, EncodeBudget& budget,
                     std::vector<TokenId>& ids);
  void encode_between_added(const BpeTokenizer& tokenizer, std::string_view text, Markup markup, EncodeBudget& budget,
                            std::vector<TokenId>& ids);
  void encode_plain(const BpeTokenizer& tokenizer, std::string_view text, std::vector<TokenId>& ids);
  void encode_piece(const BpeTokenizer& tokenizer, std::string_view piece, std::vector<TokenId>& ids);
  void merge_piece(const BpeTokenizer& tokenizer, std::string_view piece);

  PieceCache cache_;
  SplitPattern::Workspace split_;
  BpeMerges::Workspace merge_;
  std::vector<TokenId> piece_ids_;
  MarkedText normalized_;
};

// Lends encoders to threads; makes one per thread that encodes at the same time.
class BpeTokenizer::EncoderPool {
 public:
  std::unique_ptr<Encoder> take();
  void give_back(std::unique_ptr<Encoder> encoder);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Encoder>> idle_;
};

}  // namespace fwl
