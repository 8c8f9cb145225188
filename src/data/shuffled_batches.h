// Batches of windows of a token file in random order, resumable at any batch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/permutation.h"
#include "data/token_batch.h"
#include "data/token_file.h"
#include "support/row_share.h"

namespace fwl {

struct ShuffledOptions {
  int64_t rows = 8;              // B
  int64_t segment_tokens = 256;  // T
  int64_t seed = 0;
  bool is_packed = false;  // windows may cross document boundaries
};

// An endless sequence of windows of up to T targets, in a new random order every epoch. A document of n tokens has n -
// 1 targets; its windows are [0, T), [T, 2T), …, the last one shorter, so every target occurs once per epoch. With
// is_packed the whole file is one such document. Batches are always full: one that reaches the end of an epoch
// continues with the next epoch.
class ShuffledBatches {
 public:
  // `tokens` must outlive this. Batches hold the rows of `share` alone, if there is one.
  ShuffledBatches(const TokenView& tokens, ShuffledOptions options, std::optional<RowShare> share = {});

  void next(TokenBatch& batch);
  int64_t windows_per_epoch() const { return window_count_; }
  int64_t epoch() const { return position_ / window_count_; }

  BatchState state() const;
  void restore(const BatchState& state);  // throws a UserError if it belongs to other data or options

 private:
  struct Window {
    int64_t first_token, target_count;
  };
  int64_t windows_of(int64_t document) const;
  Window window(int64_t index) const;

  const TokenView& tokens_;
  ShuffledOptions options_;
  RowShare share_;
  std::vector<int64_t> windows_before_;  // before every 64th document
  int64_t window_count_ = 0;
  int64_t position_ = 0;  // windows returned since the start of the first epoch
  Permutation order_;
};

}  // namespace fwl
