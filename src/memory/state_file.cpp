// Saved states: the sums as tensors, the positions as whole numbers beside them.
#include "memory/state_file.h"

#include <fmt/format.h>

#include "engine/torch.h"
#include "memory/state.h"
#include "support/error.h"

namespace fwl {
namespace {

void append_sums(TensorMap& tensors, const std::string& prefix, const WeightSet& set) {
  for (size_t index = 0; index < weight_names.size(); ++index)
    if (set.all()[index]->defined()) tensors[prefix + weight_names[index]] = *set.all()[index];
}

WeightSet take_sums(TensorReader& reader, const std::string& prefix, const WeightSet& slow_weights, int64_t sequences) {
  WeightSet set;
  for (size_t index = 0; index < weight_names.size(); ++index) {
    const auto& weight = *slow_weights.all()[index];
    auto shape = weight.sizes().vec();
    shape.insert(shape.begin(), sequences);
    *set.all()[index] =
        reader.take_finite(prefix + weight_names[index], shape, weight.scalar_type()).to(weight.device());
  }
  return set;
}

}  // namespace

void append_state(TensorMap& tensors, const std::string& prefix, const FastState& state) {
  append_sums(tensors, prefix + "closed.", state.closed);
  append_sums(tensors, prefix + "open.", state.open);
  tensors[prefix + "open_tokens"] = numbers_tensor(state.open_tokens);
  tensors[prefix + "tokens_read"] = numbers_tensor(state.tokens_read);
  tensors[prefix + "segment_tokens"] = numbers_tensor({state.segment_tokens});
  tensors[prefix + "sequences"] = numbers_tensor({state.sequences()});
}

FastState take_state(TensorReader& reader, const std::string& prefix, const WeightSet& slow_weights) {
  const int64_t sequences = reader.take_number(prefix + "sequences");
  if (sequences == 0) fail(reader.path(), "at least one sequence", "0", "the file is damaged");
  FastState state;
  if (reader.has(prefix + "closed.U")) state.closed = take_sums(reader, prefix + "closed.", slow_weights, sequences);
  state.open = take_sums(reader, prefix + "open.", slow_weights, sequences);
  state.open_tokens = reader.take_numbers(prefix + "open_tokens", sequences);
  state.tokens_read = reader.take_numbers(prefix + "tokens_read", sequences);
  state.segment_tokens = reader.take_number(prefix + "segment_tokens");
  for (const auto tokens : state.open_tokens)
    if (state.segment_tokens > 0 && tokens > state.segment_tokens)
      fail(reader.path(), "an open segment no longer than a segment", fmt::format("{} tokens", tokens),
           "the file is damaged");
  return state;
}

void save_state(const FastState& state, const std::string& path) {
  TensorMap tensors;
  append_state(tensors, "", state);
  save_tensors(tensors, path, {{"format", "fwl-state"}});
}

FastState load_state(const std::string& path, const WeightSet& slow_weights) {
  TensorReader reader(path, "a fast-weight state");
  auto state = take_state(reader, "", slow_weights);
  reader.expect_nothing_else();
  return state;
}

}  // namespace fwl
