#include "base/base_model.h"

#include <fmt/format.h>

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {

BaseState BaseState::clone() const {
  BaseState copy(*this);
  for (auto& tensor : copy.memory) tensor = tensor.defined() ? tensor.clone() : tensor;
  if (recent.defined()) copy.recent = recent.clone();
  return copy;
}

size_t BaseState::bytes() const {
  size_t total = recent.defined() ? recent.nbytes() : 0;
  for (const auto& tensor : memory)
    if (tensor.defined()) total += tensor.nbytes();
  return total;
}

at::Tensor BaseModel::read(const at::Tensor& tokens, BaseState& state) const {
  const auto where = architecture() + " model";
  if (tokens.dim() != 2 || tokens.size(0) != state.sequences)
    fail(where, fmt::format("token ids of shape {},T", state.sequences), c10::str(tokens.sizes()),
         "the state was made for another number of texts?");
  if (!at::isIntegralType(tokens.scalar_type(), false)) fail(where, "whole numbers", c10::str(tokens.scalar_type()));
  if (tokens.size(1) == 0) fail(where, "at least one token", "none");
  const auto [smallest, largest] = at::aminmax(tokens);
  const auto low = smallest.item<int64_t>(), high = largest.item<int64_t>();
  if (low < 0 || high >= vocabulary_size())
    fail(where, fmt::format("token ids from 0 to {}", vocabulary_size() - 1), std::to_string(low < 0 ? low : high),
         "tokens of another vocabulary?");
  return read_checked(tokens.to(at::kLong), state);
}

}  // namespace fwl
