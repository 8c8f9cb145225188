#include "model/divergence_guard.h"

#include <cmath>
#include <utility>

namespace fwl {
namespace {

constexpr double well_above = 1;       // nats per token
constexpr int64_t enough_tokens = 64;  // for a mean that tells something

}  // namespace

DivergenceGuard::DivergenceGuard(const LanguageModel& model, Session& session)
    : model_(model), session_(session), good_(session.fast.clone()), good_blocks_(session.blocks.fast.clone()) {}

bool DivergenceGuard::has_diverged(double mean) const {
  if (!std::isfinite(mean)) return true;
  const double blind_guess = std::log(static_cast<double>(model_.base().vocabulary_size()));
  const double usual = tokens_ > 0 ? sum_ / static_cast<double>(tokens_) : blind_guess;
  return mean > blind_guess && mean > usual + well_above;
}

bool DivergenceGuard::check(double loss_sum, int64_t tokens) {
  if (!session_.fast.is_defined() && !session_.blocks.fast.is_defined()) return false;
  unjudged_sum_ += loss_sum;
  unjudged_tokens_ += tokens;
  if (unjudged_tokens_ < enough_tokens && std::isfinite(unjudged_sum_)) return false;
  const double sum = std::exchange(unjudged_sum_, 0);
  const int64_t count = std::exchange(unjudged_tokens_, 0);
  if (has_diverged(sum / static_cast<double>(count))) {
    roll_back();
    return true;
  }
  sum_ += sum;
  tokens_ += count;
  good_ = session_.fast.clone();
  good_blocks_ = session_.blocks.fast.clone();
  return false;
}

void DivergenceGuard::roll_back() {
  session_.fast = good_.clone();
  if (!model_.blocks()) return;
  session_.blocks = {};
  session_.blocks.fast = good_blocks_.clone();
  session_.base = model_.base().new_state(session_.sequences(), session_.base.context);
  session_.last_hidden = at::Tensor();
}

}  // namespace fwl
