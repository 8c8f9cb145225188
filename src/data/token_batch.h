// A batch of token ids for a model, and the state from which a stream of batches goes on.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/token_file.h"

namespace fwl {

// B sequences of up to T tokens; targets are the inputs one token later. Buffers are reused from batch to batch.
struct TokenBatch {
  static constexpr int64_t no_target = -100;  // what the engine's losses ignore

  int64_t rows = 0;                        // B
  int64_t columns = 0;                     // T
  std::vector<int64_t> inputs;             // B,T; 0 after a row's length
  std::vector<int64_t> targets;            // B,T; no_target after a row's length
  std::vector<int64_t> lengths;            // B
  std::vector<uint8_t> is_document_start;  // B,T; 1 where an input is the first token of its document

  void resize(int64_t row_count, int64_t column_count);
  int64_t target_count() const;
};

// Where a stream of batches stands, and what it was made of, so that it is only continued on the same data.
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

// Puts `length` tokens from `first_token` on into a row, with their targets and document starts.
void fill_row(const TokenView& tokens, int64_t first_token, int64_t length, TokenBatch& batch, int64_t row);

// Throws UserError where `state` is not one of the stream that `mine` describes.
void check_continues(const BatchState& state, BatchState mine);

}  // namespace fwl
