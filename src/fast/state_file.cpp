// Saved states: the sums as tensors, the positions as whole numbers beside them.
#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>

#include "engine/tensor_files.h"
#include "fast/state.h"
#include "support/error.h"

namespace fwl {
namespace {

at::Tensor to_tensor(const std::vector<int64_t>& numbers) {
  return at::tensor(numbers, at::kLong);
}

void append(TensorMap& tensors, const char* prefix, const WeightSet& set) {
  for (size_t index = 0; index < weight_names.size(); ++index)
    if (set.all()[index]->defined()) tensors[fmt::format("{}.{}", prefix, weight_names[index])] = *set.all()[index];
}

// Takes what is expected out of the file and complains about anything else.
class StateReader {
 public:
  explicit StateReader(const std::string& path) : path_(path), tensors_(load_tensors(SafetensorsFile(path))) {}

  bool has(const std::string& name) const { return tensors_.contains(name); }

  at::Tensor take(const std::string& name, std::vector<int64_t> shape, at::ScalarType type) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) fail(path_, "a tensor " + name, "none", "not a fast-weight state?");
    const auto tensor = found->second;
    tensors_.erase(found);
    if (tensor.sizes() != at::IntArrayRef(shape) || tensor.scalar_type() != type)
      fail(fmt::format("{}: {}", path_, name), c10::str(at::IntArrayRef(shape), " ", type),
           c10::str(tensor.sizes(), " ", tensor.scalar_type()), "a state of another layer?");
    return tensor;
  }

  WeightSet take_sums(const char* prefix, const WeightSet& slow_weights, int64_t sequences) {
    WeightSet set;
    for (size_t index = 0; index < weight_names.size(); ++index) {
      const auto& weight = *slow_weights.all()[index];
      auto shape = weight.sizes().vec();
      shape.insert(shape.begin(), sequences);
      auto sums = take(fmt::format("{}.{}", prefix, weight_names[index]), shape, weight.scalar_type());
      if (!sums.isfinite().all().item<bool>()) fail(path_, "finite sums", "NaN or infinity", "the file is damaged");
      *set.all()[index] = sums.to(weight.device());
    }
    return set;
  }

  std::vector<int64_t> take_numbers(const std::string& name, int64_t count) {
    const auto tensor = take(name, {count}, at::kLong);
    const auto* first = tensor.const_data_ptr<int64_t>();
    std::vector<int64_t> numbers(first, first + count);
    if (std::ranges::any_of(numbers, [](int64_t number) { return number < 0; }))
      fail(fmt::format("{}: {}", path_, name), "whole numbers >= 0", "a negative one", "the file is damaged");
    return numbers;
  }

  void expect_nothing_else() const {
    if (!tensors_.empty()) fail(path_, "a fast-weight state", "also a tensor " + tensors_.begin()->first);
  }

 private:
  std::string path_;
  TensorMap tensors_;
};

}  // namespace

void save_state(const FastState& state, const std::string& path) {
  TensorMap tensors;
  append(tensors, "closed", state.closed);
  append(tensors, "open", state.open);
  tensors["open_tokens"] = to_tensor(state.open_tokens);
  tensors["tokens_read"] = to_tensor(state.tokens_read);
  tensors["segment_tokens"] = to_tensor({state.segment_tokens});
  tensors["sequences"] = to_tensor({state.sequences()});
  save_tensors(tensors, path, {{"format", "fwl-state"}});
}

FastState load_state(const std::string& path, const WeightSet& slow_weights) {
  StateReader reader(path);
  const int64_t sequences = reader.take_numbers("sequences", 1)[0];
  if (sequences == 0) fail(path, "at least one sequence", "0", "the file is damaged");
  FastState state;
  if (reader.has("closed.U")) state.closed = reader.take_sums("closed", slow_weights, sequences);
  state.open = reader.take_sums("open", slow_weights, sequences);
  state.open_tokens = reader.take_numbers("open_tokens", sequences);
  state.tokens_read = reader.take_numbers("tokens_read", sequences);
  state.segment_tokens = reader.take_numbers("segment_tokens", 1)[0];
  for (const auto tokens : state.open_tokens)
    if (state.segment_tokens > 0 && tokens >= state.segment_tokens)
      fail(path, "an open segment shorter than a segment", fmt::format("{} tokens", tokens), "the file is damaged");
  reader.expect_nothing_else();
  return state;
}

}  // namespace fwl
