// Batches of a token file in reading order, resumable at any batch.
#pragma once

#include <cstdint>
#include <optional>

#include "data/token_batch.h"
#include "data/token_file.h"
#include "support/row_share.h"

namespace fwl {

struct ReadingOptions {
  int64_t rows = 1;              // B
  int64_t segment_tokens = 256;  // T
};

// As in Transformer-XL, the file is cut into B lanes of N / B tokens, and batch i holds the i-th segment of T tokens of
// every lane; the last segment may be shorter. Fewer than B tokens at the end of the file are left out, so with B = 1
// every token but the first is a target exactly once.
class ReadingBatches {
 public:
  // `tokens` must outlive this. Batches hold the rows of `share` alone, if there is one.
  ReadingBatches(const TokenView& tokens, ReadingOptions options, std::optional<RowShare> share = {});

  bool next(TokenBatch& batch);  // false at the end of the pass
  void start_again() { position_ = 0; }
  int64_t batches_per_pass() const;

  BatchState state() const;
  void restore(const BatchState& state);  // throws a UserError if it belongs to other data or options

 private:
  const TokenView& tokens_;
  ReadingOptions options_;
  RowShare share_;
  int64_t lane_tokens_ = 0;
  int64_t position_ = 0;  // in each lane
};

}  // namespace fwl
