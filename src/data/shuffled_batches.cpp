#include "data/shuffled_batches.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.h"

namespace fwl {
namespace {

constexpr int64_t documents_per_mark = 64;

int64_t windows_for(int64_t token_count, int64_t segment_tokens) {
  return (std::max<int64_t>(token_count, 1) - 1 + segment_tokens - 1) / segment_tokens;
}

Permutation order_of(int64_t window_count, int64_t seed, int64_t epoch) {
  return {static_cast<uint64_t>(window_count), static_cast<uint64_t>(seed), static_cast<uint64_t>(epoch)};
}

}  // namespace

ShuffledBatches::ShuffledBatches(const TokenView& tokens, ShuffledOptions options, std::optional<RowShare> share)
    : tokens_(tokens), options_(options), share_(share.value_or(RowShare{0, options.rows})), order_(1, 0, 0) {
  if (options_.is_packed) {
    window_count_ = windows_for(tokens_.size(), options_.segment_tokens);
  } else {
    for (int64_t document = 0; document < tokens_.document_count(); ++document) {
      if (document % documents_per_mark == 0) windows_before_.push_back(window_count_);
      window_count_ += windows_of(document);
    }
  }
  if (window_count_ == 0) fail("token file", "a document of at least 2 tokens", "none", "there is nothing to predict");
  order_ = order_of(window_count_, options_.seed, 0);
}

int64_t ShuffledBatches::windows_of(int64_t document) const {
  const auto token_count = tokens_.first_token_of(document + 1) - tokens_.first_token_of(document);
  return windows_for(token_count, options_.segment_tokens);
}

ShuffledBatches::Window ShuffledBatches::window(int64_t index) const {
  int64_t first = 0, end = tokens_.size();
  if (!options_.is_packed) {
    const auto after = std::upper_bound(windows_before_.begin(), windows_before_.end(), index);
    auto document = (after - windows_before_.begin() - 1) * documents_per_mark;
    index -= *std::prev(after);
    for (auto count = windows_of(document); index >= count; count = windows_of(++document)) index -= count;
    first = tokens_.first_token_of(document);
    end = tokens_.first_token_of(document + 1);
  }
  first += index * options_.segment_tokens;
  return {first, std::min(options_.segment_tokens, end - 1 - first)};
}

void ShuffledBatches::next(TokenBatch& batch) {
  batch.resize(share_.count, options_.segment_tokens);
  batch.all_targets = 0;
  for (int64_t row = 0; row < options_.rows; ++row) {
    const auto in_epoch = position_ % window_count_;
    if (in_epoch == 0) order_ = order_of(window_count_, options_.seed, epoch());
    const auto chosen = window(static_cast<int64_t>(order_(static_cast<uint64_t>(in_epoch))));
    batch.all_targets += chosen.target_count;
    if (share_.has(row)) fill_row(tokens_, chosen.first_token, chosen.target_count, batch, row - share_.first);
    ++position_;
  }
}

BatchState ShuffledBatches::state() const {
  return {"shuffled",    to_hex(tokens_.ids_hash()), options_.rows, options_.segment_tokens,
          options_.seed, options_.is_packed,         position_};
}

void ShuffledBatches::restore(const BatchState& state) {
  check_continues(state, this->state());
  position_ = state.position;
  order_ = order_of(window_count_, options_.seed, epoch());
}

}  // namespace fwl
