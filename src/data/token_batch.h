// A batch of token ids, and the state from which a stream of batches resumes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/token_file.h"

namespace fwl {

// B sequences of up to T tokens; targets are the inputs one token later. Buffers are reused from batch to batch.
struct TokenBatch {
  static constexpr int64_t no_target = -100;  // ignored by LibTorch's losses

  int64_t rows = 0;                        // B
  int64_t columns = 0;                     // T
  int64_t all_targets = 0;                 // of the whole batch, of which these rows may be a share
  std::vector<int64_t> inputs;             // B,T; 0 after a row's length
  std::vector<int64_t> targets;            // B,T; no_target after a row's length
  std::vector<int64_t> lengths;            // B
  std::vector<uint8_t> is_document_start;  // B,T; 1 where an input is the first token of its document

  void resize(int64_t row_count, int64_t column_count);
  int64_t target_count() const;
};

// The position of a stream of batches, and a description of its data and options, which must match on resume.
struct BatchState {
  std::string order;
  std::string data_hash;
  int64_t rows = 0, segment_tokens = 0, seed = 0;
  bool is_packed = false;
  int64_t position = 0;
  bool operator==(const BatchState&) const = default;
};
nlohmann::json to_json(const BatchState& state);
BatchState batch_state_from_json(const nlohmann::json& json);  // throws UserError

// Fills a row with `length` tokens from `first_token` on, their targets and document starts.
void fill_row(const TokenView& tokens, int64_t first_token, int64_t length, TokenBatch& batch, int64_t row);

// Throws a UserError if `state` does not belong to the stream that `mine` describes.
void check_continues(const BatchState& state, BatchState mine);

}  // namespace fwl
