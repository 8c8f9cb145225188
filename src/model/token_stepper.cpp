#include "model/token_stepper.h"

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {

TokenStepper::TokenStepper(const LanguageModel& model, Session& session, Adaptation adaptation)
    : model_(model), session_(session), adaptation_(adaptation) {
  if (session.sequences() != 1) fail("session", "one text", std::to_string(session.sequences()));
  if (!session.last_hidden.defined()) fail("session", "at least one token read", "none");
  const auto& adapter = model.adapter();
  moves_bias_ = adaptation == Adaptation::write && adapter.bias_log_step.defined();
  if (adaptation == Adaptation::write && adapter.layer && !moves_bias_)
    cursor_.emplace(*adapter.layer, session.fast, adapter.chunk_tokens);
}

at::Tensor TokenStepper::next_logits() {
  if (cursor_) return model_.base().head()->logits(cursor_->adapt(session_.last_hidden));
  return model_.next_logits(session_, adaptation_ == Adaptation::off ? Adaptation::off : Adaptation::read);
}

void TokenStepper::read(int64_t token) {
  const auto tokens = at::full({1, 1}, token, at::kLong);
  if (moves_bias_) {
    model_.read(tokens, session_, {adaptation_});
    return;
  }
  if (cursor_) cursor_->learn(*model_.base().head(), token);
  session_.last_hidden = model_.base().read(tokens, session_.base).select(1, 0).clone();
}

void TokenStepper::finish() {
  if (cursor_) session_.fast = cursor_->state();
}

}  // namespace fwl
