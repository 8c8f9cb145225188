#include "model/token_stepper.h"

#include <optional>

#include "engine/row_products.h"
#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {

BlockReader block_reader(const LanguageModel& model, Session& session, Adaptation adaptation) {
  session.base.undo_tokens = model.blocks()->options().chunk_tokens;
  return {model.base(), *model.blocks(), model.memory().get(), session, adaptation, false};
}

}  // namespace

at::Tensor advance(const LanguageModel& model, const at::Tensor& tokens, Session& session, Adaptation adaptation) {
  const auto all = tokens.to(model.device(), at::kLong);  // B,T
  std::vector<at::Tensor> parts;                          // each B,n,D
  if (model.blocks()) {
    model.base().check({all, &session.base});
    auto reader = block_reader(model, session, adaptation);
    if (session.last_hidden.defined()) reader.add_target(all.select(1, 0));
    for (int64_t start = 0, count = 0; start < all.size(1); start += count) {
      count = std::min(reader.room(), all.size(1) - start);
      const auto targets = all.slice(1, start + 1, start + count + 1);  // B,count, or one less at the end
      parts.push_back(reader.read(all.narrow(1, start, count), targets, {}).hidden);
    }
  } else {
    parts.push_back(model.base().read(all, session.base));
  }
  session.last_hidden = parts.back().select(1, parts.back().size(1) - 1).clone();  // B,D
  return at::cat(parts, 1);
}

void advance(const LanguageModel& model, const std::vector<SessionStep>& steps) {
  std::vector<TokenSpan> spans;
  for (const auto& step : steps) {
    spans.push_back({at::full({1, 1}, step.token, at::kLong).to(model.device()), &step.session->base});
    model.base().check(spans.back());
  }
  std::optional<BlockPass> pass;
  if (model.blocks()) pass.emplace(*model.blocks());
  BaseCall call;
  for (size_t index = 0; pass && index < steps.size(); ++index) {
    const auto& tokens = spans[index].tokens;
    auto reader = block_reader(model, *steps[index].session, steps[index].adaptation);
    if (steps[index].session->last_hidden.defined()) reader.add_target(tokens.select(1, 0));
    reader.add(tokens, tokens.slice(1, 1), {});
    const auto own = reader.use(*pass);
    if (own.addition) call = own;
  }
  const IndependentRows independent;
  const auto hidden = model.base().read(spans, call);
  for (size_t index = 0; index < steps.size(); ++index)
    steps[index].session->last_hidden = hidden[index].select(1, 0).clone();  // 1,D
}

at::Tensor logits_of(const LanguageModel& model, const at::Tensor& hidden, const Session& session,
                     Adaptation adaptation) {
  const auto& memory = model.memory();
  if (!memory) return model.base().head()->logits(hidden[0]);
  const bool is_off = adaptation == Adaptation::off || !session.fast.is_defined();
  const auto head = is_off ? model.base().head() : memory->head_for(model.base().head(), session.fast, 0);
  return head->logits(memory->adapt(hidden, is_off ? FastState{} : session.fast)[0]);
}

TokenStepper::TokenStepper(const LanguageModel& model, Session& session, Adaptation adaptation)
    : model_(model), session_(session), adaptation_(adaptation) {
  if (session.sequences() != 1) fail("session", "one text", std::to_string(session.sequences()));
  if (!session.last_hidden.defined()) fail("session", "at least one token read", "none");
  const auto& memory = model.memory();
  head_ = model.base().head();
  if (!memory) return;
  if (adaptation == Adaptation::write) {
    cursor_ = memory->cursor(session.fast, head_);
    return;
  }
  const auto state = adaptation == Adaptation::off ? FastState{} : session.fast;
  adapter_ = memory->adapter(state);
  if (state.is_defined()) head_ = memory->head_for(head_, state, 0);
}

at::Tensor TokenStepper::next_logits() {
  return cursor_ ? cursor_->logits(session_.last_hidden) : head_->logits(head_input());
}

at::Tensor TokenStepper::head_input() const {
  if (cursor_) return {};
  return adapter_ ? adapter_(session_.last_hidden.unsqueeze(1)).squeeze(1) : session_.last_hidden;
}

std::vector<at::Tensor> TokenStepper::next_logits(const std::vector<TokenStepper*>& steppers) {
  std::vector<at::Tensor> logits(steppers.size()), rows;
  std::vector<size_t> shared;
  for (size_t index = 0; index < steppers.size(); ++index) {
    const bool is_shared = steppers[index]->head_ == steppers.front()->model_.base().head();
    const auto input = is_shared ? steppers[index]->head_input() : at::Tensor();
    if (!input.defined()) {
      logits[index] = steppers[index]->next_logits();
      continue;
    }
    rows.push_back(input);
    shared.push_back(index);
  }
  if (rows.empty()) return logits;
  const IndependentRows independent;
  const auto all = steppers.front()->model_.base().head()->logits(at::cat(rows));  // N,V
  for (size_t row = 0; row < shared.size(); ++row) logits[shared[row]] = all.narrow(0, static_cast<int64_t>(row), 1);
  return logits;
}

void TokenStepper::read(int64_t token) {
  if (cursor_) cursor_->learn(session_.last_hidden, token);
  model_.advance(at::full({1}, token, at::kLong), session_, adaptation_);
}

void TokenStepper::read(const std::vector<Step>& steps) {
  std::vector<SessionStep> all;
  for (const auto& [stepper, token] : steps) {
    if (stepper->cursor_) stepper->cursor_->learn(stepper->session_.last_hidden, token);
    all.push_back({token, &stepper->session_, stepper->adaptation_});
  }
  if (!all.empty()) advance(steps.front().stepper->model_, all);
}

void TokenStepper::finish() {
  if (cursor_) session_.fast = cursor_->state();
}

}  // namespace fwl
