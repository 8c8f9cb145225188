#include "train/step_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace fwl {
namespace {

constexpr int64_t memory_steps = 100;
constexpr int64_t steps_before_judging = 50;  // the first norms of a run are not representative

}  // namespace

std::string StepGuard::objection(double loss, double norm) {
  std::string reason;
  if (!std::isfinite(loss))
    reason = fmt::format("the loss is {}", loss);
  else if (!std::isfinite(norm))
    reason = fmt::format("the gradient's norm is {}", norm);
  else if (config_.outlier_factor > 0 && steps_ >= steps_before_judging && norm > config_.outlier_factor * usual_norm_)
    reason = fmt::format("the gradient's norm is {:.3g}, usually {:.3g}", norm, usual_norm_);
  if (!reason.empty()) {
    ++skipped_;
    ++skipped_in_a_row_;
    return reason;
  }
  skipped_in_a_row_ = 0;
  ++steps_;
  usual_norm_ += (norm - usual_norm_) / static_cast<double>(std::min(steps_, memory_steps));
  return {};
}

nlohmann::json StepGuard::to_json() const {
  return {
      {"usual_norm", usual_norm_}, {"steps", steps_}, {"skipped", skipped_}, {"skipped_in_a_row", skipped_in_a_row_}};
}

void StepGuard::restore(const nlohmann::json& json) {
  usual_norm_ = json.at("usual_norm").get<double>();
  steps_ = json.at("steps").get<int64_t>();
  skipped_ = json.at("skipped").get<int64_t>();
  skipped_in_a_row_ = json.at("skipped_in_a_row").get<int64_t>();
}

}  // namespace fwl
