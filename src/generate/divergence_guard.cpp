#include "generate/divergence_guard.h"

#include <cmath>

namespace fwl {
namespace {

constexpr double well_above = 1;       // nats per token
constexpr int64_t enough_tokens = 64;  // for a mean that tells something

}  // namespace

DivergenceGuard::DivergenceGuard(const LanguageModel& model, Session& session)
    : model_(model), session_(session), good_(session.fast.clone()), good_blocks_(session.blocks.clone()) {}

bool DivergenceGuard::has_diverged(double mean) const {
  if (!std::isfinite(mean)) return true;
  const double blind_guess = std::log(static_cast<double>(model_.base().vocabulary_size()));
  const double usual = tokens_ > 0 ? sum_ / static_cast<double>(tokens_) : blind_guess;
  return mean > blind_guess && mean > usual + well_above;
}

bool DivergenceGuard::check(double loss_sum, int64_t tokens) {
  if (!session_.fast.is_defined() && !session_.blocks.fast.is_defined()) return false;
  if (tokens < enough_tokens && std::isfinite(loss_sum)) return false;
  if (!has_diverged(loss_sum / static_cast<double>(tokens))) {
    sum_ += loss_sum;
    tokens_ += tokens;
    good_ = session_.fast.clone();
    good_blocks_ = session_.blocks.clone();
    return false;
  }
  // Hidden states that memories in the blocks have touched are dropped with them.
  if (model_.blocks()) session_.base = model_.base().new_state(session_.sequences(), session_.base.context);
  session_.fast = good_.clone();
  session_.blocks = good_blocks_.clone();
  return true;
}

}  // namespace fwl
