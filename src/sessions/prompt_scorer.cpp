#include "sessions/prompt_scorer.h"

#include "engine/torch.h"
#include "model/token_stepper.h"
#include "support/error.h"

namespace fwl {
namespace {

at::Tensor log_probabilities(const at::Tensor& logits) {
  return at::log_softmax(logits.to(at::kCPU, at::kFloat), -1);
}

ScoredToken from_log_probabilities(const at::Tensor& row, TokenId token, int64_t top) {
  ScoredToken result{.token = token, .logprob = row[token].item<float>(), .slow_logprob = {}};
  if (!std::isfinite(*result.logprob) && std::isnan(*result.logprob))
    fail("model", "finite logits", "NaN", "the fast weights diverged");
  if (top <= 0) return result;
  const auto [values, ids] = at::topk(row, std::min(top, row.size(0)));
  for (int64_t index = 0; index < values.size(0); ++index)
    result.top.push_back({static_cast<TokenId>(ids[index].item<int64_t>()), values[index].item<float>()});
  return result;
}

}  // namespace

ScoredToken scored(const at::Tensor& logits, TokenId token, int64_t top) {
  return from_log_probabilities(log_probabilities(logits), token, top);
}

PromptScorer::PromptScorer(const LanguageModel& model, Session& session, Adaptation adaptation, int64_t top,
                           bool wants_slow)
    : model_(model), session_(session), adaptation_(adaptation), top_(top), wants_slow_(wants_slow) {
  if (adaptation == Adaptation::write && model.memory())
    cursor_ = model.memory()->cursor(session.fast, model.base().head());
}

at::Tensor PromptScorer::logits_at(const at::Tensor& hidden, TokenId target) {
  const auto logits = cursor_->logits(hidden)[0];  // V
  cursor_->learn(hidden, target);
  return logits;
}

std::vector<ScoredToken> PromptScorer::read(std::span<const TokenId> tokens) {
  const auto before = session_.last_hidden;  // 1,D
  const std::vector<int64_t> ids(tokens.begin(), tokens.end());
  auto hidden = advance(model_, at::tensor(ids, at::kLong).unsqueeze(0), session_, adaptation_);  // 1,T,D
  hidden = hidden.slice(1, 0, hidden.size(1) - 1);
  if (before.defined()) hidden = at::cat({before.unsqueeze(1), hidden}, 1);
  std::vector<ScoredToken> result;
  if (!before.defined()) result.push_back({.token = tokens[0], .logprob = {}, .slow_logprob = {}});
  const auto first = static_cast<int64_t>(result.size()), count = hidden.size(1);
  if (count == 0) return result;
  at::Tensor all, slow;  // count,V
  if (!cursor_) all = log_probabilities(logits_of(model_, hidden, session_, adaptation_));
  if (wants_slow_) slow = log_probabilities(logits_of(model_, hidden, session_, Adaptation::off));
  for (int64_t index = 0; index < count; ++index) {
    const auto token = tokens[static_cast<size_t>(first + index)];
    result.push_back(cursor_ ? scored(logits_at(hidden[0].narrow(0, index, 1), token), token, top_)
                             : from_log_probabilities(all[index], token, top_));
    if (wants_slow_) result.back().slow_logprob = slow[index][token].item<float>();
  }
  return result;
}

void PromptScorer::finish() {
  if (cursor_) session_.fast = cursor_->state();
  cursor_.reset();
}

}  // namespace fwl
