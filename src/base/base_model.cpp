#include "base/base_model.h"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {

at::TensorOptions BaseModel::options() const {
  return weights_.parameters.front().second.options().requires_grad(false);
}

void BaseModel::to(at::Device device) {
  if (this->device() == device) return;
  for (auto& [name, tensor] : weights_.parameters) move_to(tensor, device);
  for (auto& [name, matrix] : weights_.quantized) {
    matrix.to(device);
    weights_.parameters.emplace_back(name, matrix.dense());
  }
  weights_.quantized.clear();
  head_.weights_moved();
}

int64_t BaseModel::window_room(const BaseState&) const {
  return std::numeric_limits<int64_t>::max();
}

void BaseModel::rewind(BaseState& state, int64_t tokens) const {
  TORCH_CHECK(tokens <= std::min(state.undo_tokens, state.cached_tokens), "a state can take back its last ",
              state.undo_tokens, " tokens, not ", tokens);
  state.tokens_read -= tokens;
  state.cached_tokens -= tokens;
}

at::Tensor BaseModel::with_addition(const BaseCall& call, int64_t block, const at::Tensor& input,
                                    const at::Tensor& output, const TokenRows& rows) {
  if (!call.addition) return output;
  const auto added = call.addition->at_block(block, input, rows);
  return added.defined() ? output + added : output;
}

BaseState BaseModel::new_state(int64_t sequences, const ContextOptions& context) const {
  if (sequences < 1) fail(architecture() + " model", "at least one sequence", std::to_string(sequences));
  check_context(context);
  BaseState state;
  state.sequences = sequences;
  state.context = context;
  state.shape = shape();
  return state;
}

std::string BaseModel::shape() const {
  return fmt::format("{}, {} blocks, hidden size {}, {} tokens, {} weights", architecture(), blocks(), hidden_size(),
                     vocabulary_size(), weight_counts().total());
}

void BaseModel::expect_own(const BaseState& state) const {
  if (state.shape != shape())
    fail(architecture() + " model", fmt::format("a session of its own ({})", shape()),
         fmt::format("the session of another model ({})", state.shape));
}

at::Tensor BaseModel::read(const at::Tensor& tokens, BaseState& state, const BaseCall& call) const {
  return read({{tokens, &state}}, call)[0];
}

std::vector<at::Tensor> BaseModel::read(const std::vector<TokenSpan>& spans, const BaseCall& call) const {
  std::vector<TokenSpan> checked;
  std::set<const BaseState*> states;
  for (const auto& span : spans) {
    check(span);
    TORCH_CHECK(states.insert(span.state).second, "each state can appear only once in a pass");
    checked.push_back({span.tokens.to(device(), at::kLong), span.state});
  }
  return checked.empty() ? std::vector<at::Tensor>{} : read_checked(checked, call);
}

void BaseModel::check(const TokenSpan& span) const {
  const auto where = architecture() + " model";
  const auto& tokens = span.tokens;
  expect_own(*span.state);
  if (tokens.dim() != 2 || tokens.size(0) != span.state->sequences)
    fail(where, fmt::format("token ids of shape {},T", span.state->sequences), c10::str(tokens.sizes()),
         "the state was made for another number of sequences?");
  if (!at::isIntegralType(tokens.scalar_type(), false))
    fail(where, "integer token ids", c10::str(tokens.scalar_type()));
  if (tokens.size(1) == 0) fail(where, "at least one token", "none");
  const auto [smallest, largest] = at::aminmax(tokens);
  const auto low = smallest.item<int64_t>(), high = largest.item<int64_t>();
  if (low < 0 || high >= vocabulary_size())
    fail(where, fmt::format("token ids from 0 to {}", vocabulary_size() - 1), std::to_string(low < 0 ? low : high),
         "tokens of another vocabulary?");
}

}  // namespace fwl
