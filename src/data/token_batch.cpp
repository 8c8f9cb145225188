#include "data/token_batch.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "support/error.h"

namespace fwl {

void TokenBatch::resize(int64_t row_count, int64_t column_count) {
  rows = row_count;
  columns = column_count;
  const auto size = static_cast<size_t>(rows * columns);
  inputs.assign(size, 0);
  targets.assign(size, no_target);
  is_document_start.assign(size, 0);
  lengths.assign(static_cast<size_t>(rows), 0);
}

int64_t TokenBatch::target_count() const {
  return std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
}

void fill_row(const TokenView& tokens, int64_t first_token, int64_t length, TokenBatch& batch, int64_t row) {
  const auto start = static_cast<size_t>(row * batch.columns), count = static_cast<size_t>(length);
  const auto inputs = std::span(batch.inputs).subspan(start, count);
  const auto targets = std::span(batch.targets).subspan(start, count);
  tokens.read(first_token, inputs);
  std::copy(inputs.begin() + 1, inputs.end(), targets.begin());
  tokens.read(first_token + length, targets.last(1));
  batch.lengths[static_cast<size_t>(row)] = length;
  auto document = tokens.document_at(first_token);
  if (tokens.first_token_of(document) < first_token) ++document;
  for (; tokens.first_token_of(document) < first_token + length; ++document)
    batch.is_document_start[start + static_cast<size_t>(tokens.first_token_of(document) - first_token)] = 1;
}

nlohmann::json to_json(const BatchState& state) {
  return {{"order", state.order},      {"data_hash", state.data_hash},
          {"rows", state.rows},        {"segment_tokens", state.segment_tokens},
          {"seed", state.seed},        {"is_packed", state.is_packed},
          {"position", state.position}};
}

BatchState batch_state_from_json(const nlohmann::json& json) {
  try {
    BatchState state;
    json.at("order").get_to(state.order);
    json.at("data_hash").get_to(state.data_hash);
    json.at("rows").get_to(state.rows);
    json.at("segment_tokens").get_to(state.segment_tokens);
    json.at("seed").get_to(state.seed);
    json.at("is_packed").get_to(state.is_packed);
    json.at("position").get_to(state.position);
    return state;
  } catch (const nlohmann::json::exception& error) {
    fail("batch state", "the state of a stream of batches", error.what());
  }
}

void check_continues(const BatchState& state, BatchState mine) {
  mine.position = state.position;
  const bool is_possible = state.position >= 0;
  if (state != mine || !is_possible)
    fail("batch state", to_json(mine).dump(), to_json(state).dump(), "it belongs to other data or options");
}

}  // namespace fwl
