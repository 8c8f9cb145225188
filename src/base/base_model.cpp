#include "base/base_model.h"

#include <fmt/format.h>

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {

BaseState BaseState::clone() const {
  BaseState copy(*this);
  for (auto& tensor : copy.cache) tensor = tensor.defined() ? tensor.clone() : tensor;
  if (recent.defined()) copy.recent = recent.clone();
  return copy;
}

size_t BaseState::bytes() const {
  size_t total = recent.defined() ? recent.nbytes() : 0;
  for (const auto& tensor : cache)
    if (tensor.defined()) total += tensor.nbytes();
  return total;
}

BaseState BaseModel::new_state(int64_t sequences, const ContextOptions& context) const {
  if (sequences < 1) fail(architecture() + " model", "a state of at least one text", std::to_string(sequences));
  check_context(context);
  BaseState state;
  state.sequences = sequences;
  state.context = context;
  return state;
}

at::Tensor BaseModel::read(const at::Tensor& tokens, BaseState& state, const BaseCall& call) const {
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
  return read_checked(tokens.to(at::kLong), state, call);
}

}  // namespace fwl
