#include "model/token_stepper.h"

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {

TokenStepper::TokenStepper(const LanguageModel& model, Session& session, Adaptation adaptation)
    : model_(model), session_(session), adaptation_(adaptation) {
  if (session.sequences() != 1) fail("session", "one text", std::to_string(session.sequences()));
  if (!session.last_hidden.defined()) fail("session", "at least one token read", "none");
  if (adaptation == Adaptation::write && model.memory())
    cursor_ = model.memory()->cursor(session.fast, model.base().head());
}

at::Tensor TokenStepper::next_logits() {
  if (cursor_) return cursor_->logits(session_.last_hidden);
  return model_.next_logits(session_, adaptation_ == Adaptation::off ? Adaptation::off : Adaptation::read);
}

void TokenStepper::read(int64_t token) {
  if (cursor_) cursor_->learn(session_.last_hidden, token);
  model_.advance(at::full({1, 1}, token, at::kLong), session_, adaptation_);
}

void TokenStepper::read(const std::vector<Step>& steps) {
  std::vector<SessionStep> all;
  for (const auto& [stepper, token] : steps) {
    if (stepper->cursor_) stepper->cursor_->learn(stepper->session_.last_hidden, token);
    all.push_back({token, &stepper->session_, stepper->adaptation_});
  }
  if (!all.empty()) steps.front().stepper->model_.advance(all);
}

void TokenStepper::finish() {
  if (cursor_) session_.fast = cursor_->state();
}

}  // namespace fwl
