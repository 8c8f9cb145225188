#include "model/token_logits.h"

#include "engine/torch.h"
#include "memory/layer.h"
#include "model/token_stepper.h"

namespace fwl {
namespace {

at::Tensor head_logits(const Head& head, const at::Tensor& hidden) {
  return head.logits(hidden.flatten(0, 1)).view({hidden.size(0), hidden.size(1), -1});  // B,T,V
}

// The layer in one pass over the text. `before` (B,D) comes before the hidden states; undefined: nothing does.
at::Tensor layer_outputs(const FastWeightLayer& layer, const std::shared_ptr<const Head>& head,
                         const at::Tensor& before, const at::Tensor& hidden, const at::Tensor& tokens,
                         FastState& state) {
  const int64_t count = hidden.size(1), first = before.defined() ? 0 : 1;
  auto inputs = hidden.narrow(1, 0, count - 1);  // their targets are known
  if (before.defined()) inputs = at::cat({before.unsqueeze(1), inputs}, 1);
  at::Tensor known;
  if (inputs.size(1) > 0)
    known = layer.outputs(inputs, tokens.slice(1, first).contiguous(), head, {}, state).slice(1, 1 - first);
  const auto last = layer.adapt(hidden.narrow(1, count - 1, 1), state);  // B,1,D
  return known.defined() ? at::cat({known, last}, 1) : last;
}

// Any memory, text by text and token by token.
at::Tensor stepwise_logits(const FastMemory& memory, const std::shared_ptr<const Head>& head, const at::Tensor& before,
                           const at::Tensor& hidden, const at::Tensor& tokens, FastState& state) {
  std::vector<at::Tensor> texts;  // each T,V
  std::vector<FastState> states;
  for (int64_t row = 0; row < hidden.size(0); ++row) {
    const auto cursor = memory.cursor(state.is_defined() ? state.sequence(row) : FastState{}, head);
    const auto next = tokens[row].cpu();  // T
    std::vector<at::Tensor> logits;       // each 1,V
    for (int64_t position = 0; position < hidden.size(1); ++position) {
      const auto last = position > 0 ? hidden.select(1, position - 1) : before;  // B,D
      if (last.defined()) cursor->learn(last.narrow(0, row, 1), next[position].item<int64_t>());
      logits.push_back(cursor->logits(hidden.select(1, position).narrow(0, row, 1)));
    }
    texts.push_back(at::cat(logits));
    states.push_back(cursor->state());
  }
  if (states.front().is_defined()) state = FastState::join(states);
  return at::stack(texts);
}

}  // namespace

at::Tensor read_logits(const LanguageModel& model, const at::Tensor& tokens, Session& session, Adaptation adaptation) {
  const auto all = tokens.to(model.device(), at::kLong);
  const auto before = session.last_hidden;
  const auto hidden = advance(model, all, session, adaptation);  // B,T,D
  const auto head = model.base().head();
  const auto* memory = model.memory().get();
  if (!memory) return head_logits(*head, hidden);
  const auto* layer = dynamic_cast<const FastWeightLayer*>(memory);
  const bool is_off = adaptation == Adaptation::off;
  if (layer && adaptation == Adaptation::write)
    return head_logits(*head, layer_outputs(*layer, head, before, hidden, all, session.fast));
  if (layer) return head_logits(*head, layer->adapt(hidden, is_off ? FastState{} : session.fast));
  if (adaptation == Adaptation::write) return stepwise_logits(*memory, head, before, hidden, all, session.fast);
  auto unchanged = is_off ? FastState{} : session.fast;
  std::vector<at::Tensor> logits;  // each B,V
  for (const auto& row : hidden.unbind(1)) logits.push_back(memory->logits(row, head, unchanged));
  return at::stack(logits, 1);
}

}  // namespace fwl
