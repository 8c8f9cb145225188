#include "memory/fast_state.h"

#include <fmt/format.h>

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {

template <class Function>
FastState map_tensors(const FastState& state, const Function& function) {
  auto copy = state;
  for (auto& [name, tensor] : copy.tensors) tensor = function(tensor);
  return copy;
}

std::vector<int64_t> with_batch(int64_t sequences, const std::vector<int64_t>& shape) {
  std::vector<int64_t> whole = {sequences};
  whole.insert(whole.end(), shape.begin(), shape.end());
  return whole;
}

// The rows of a state under a name; zeros like `like` where the state lacks it.
at::Tensor rows_or_zeros(const FastState& state, const std::string& name, const at::Tensor& like) {
  const auto found = state.find(name);
  if (found.defined()) return found;
  auto shape = like.sizes().vec();
  shape[0] = state.sequences();
  return at::zeros(shape, like.options().requires_grad(false));
}

}  // namespace

at::Tensor FastState::find(const std::string& name) const {
  const auto found = tensors.find(name);
  return found == tensors.end() ? at::Tensor() : found->second;
}

size_t FastState::bytes() const {
  size_t total = 0;
  for (const auto& [name, tensor] : tensors) total += tensor.nbytes();
  return total;
}

FastState FastState::clone() const {
  return map_tensors(*this, [](const at::Tensor& tensor) { return tensor.clone(); });
}

FastState FastState::detach() const {
  return map_tensors(*this, [](const at::Tensor& tensor) { return tensor.detach(); });
}

FastState FastState::sequence(int64_t index) const {
  auto one = map_tensors(*this, [&](const at::Tensor& tensor) { return tensor.narrow(0, index, 1); });
  one.open_tokens = {open_tokens[static_cast<size_t>(index)]};
  one.tokens_read = {tokens_read[static_cast<size_t>(index)]};
  return one;
}

FastState FastState::join(const std::vector<FastState>& states) {
  FastState joined;
  std::map<std::string, at::Tensor> examples;
  for (const auto& state : states) {
    examples.insert(state.tensors.begin(), state.tensors.end());
    joined.open_tokens.insert(joined.open_tokens.end(), state.open_tokens.begin(), state.open_tokens.end());
    joined.tokens_read.insert(joined.tokens_read.end(), state.tokens_read.begin(), state.tokens_read.end());
    joined.segment_tokens = state.segment_tokens;
  }
  for (const auto& [name, example] : examples) {
    std::vector<at::Tensor> parts;
    for (const auto& state : states) parts.push_back(rows_or_zeros(state, name, example));
    joined.tensors[name] = at::cat(parts);
  }
  return joined;
}

FastState StateLayout::zeros(int64_t sequences) const {
  FastState state;
  for (const auto& tensor : tensors)
    if (!tensor.is_optional)
      state.tensors[tensor.name] = at::zeros(with_batch(sequences, tensor.shape), options.requires_grad(false));
  state.open_tokens.assign(static_cast<size_t>(sequences), 0);
  state.tokens_read.assign(static_cast<size_t>(sequences), 0);
  return state;
}

void append_state(TensorMap& tensors, const std::string& prefix, const FastState& state) {
  for (const auto& [name, tensor] : state.tensors) tensors[prefix + name] = tensor;
  tensors[prefix + "open_tokens"] = numbers_tensor(state.open_tokens);
  tensors[prefix + "tokens_read"] = numbers_tensor(state.tokens_read);
  tensors[prefix + "segment_tokens"] = numbers_tensor({state.segment_tokens});
  tensors[prefix + "sequences"] = numbers_tensor({state.sequences()});
}

FastState take_state(TensorReader& reader, const std::string& prefix, const StateLayout& layout) {
  const int64_t sequences = reader.take_number(prefix + "sequences");
  if (sequences == 0) fail(reader.path(), "at least one sequence", "0", "the file is damaged");
  FastState state;
  const auto type = at::typeMetaToScalarType(layout.options.dtype());
  for (const auto& [name, shape, is_optional] : layout.tensors)
    if (!is_optional || reader.has(prefix + name))
      state.tensors[name] =
          reader.take_finite(prefix + name, with_batch(sequences, shape), type).to(layout.options.device());
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
  save_checked_tensors(tensors, path, {{"format", "fwl-state"}});
}

FastState load_state(const std::string& path, const StateLayout& layout) {
  TensorReader reader(path, "a fast-weight state");
  auto state = take_state(reader, "", layout);
  reader.expect_nothing_else();
  return state;
}

}  // namespace fwl
