#include "data/reading_batches.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.h"

namespace fwl {

ReadingBatches::ReadingBatches(const TokenView& tokens, ReadingOptions options, std::optional<RowShare> share)
    : tokens_(tokens),
      options_(options),
      share_(share.value_or(RowShare{0, options.rows})),
      lane_tokens_(tokens.size() / options.rows) {
  if (lane_tokens_ < 2)
    fail("token file", fmt::format("at least 2 tokens for each of {} lanes", options_.rows),
         fmt::format("{} tokens", tokens_.size()), "use fewer lanes or more text");
}

int64_t ReadingBatches::batches_per_pass() const {
  return (lane_tokens_ - 1 + options_.segment_tokens - 1) / options_.segment_tokens;
}

bool ReadingBatches::next(TokenBatch& batch) {
  const auto length = std::min(options_.segment_tokens, lane_tokens_ - 1 - position_);
  if (length <= 0) return false;
  batch.resize(share_.count, length);
  for (int64_t row = 0; row < share_.count; ++row)
    fill_row(tokens_, (share_.first + row) * lane_tokens_ + position_, length, batch, row);
  batch.all_targets = options_.rows * length;
  position_ += length;
  return true;
}

BatchState ReadingBatches::state() const {
  return {"reading", to_hex(tokens_.ids_hash()), options_.rows, options_.segment_tokens, 0, false, position_};
}

void ReadingBatches::restore(const BatchState& state) {
  check_continues(state, this->state());
  position_ = state.position;
}

}  // namespace fwl
