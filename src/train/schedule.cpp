#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fwl {

double learning_rate(const OptimizerConfig& config, int64_t step, int64_t steps) {
  const auto warmup = static_cast<double>(config.warmup_steps), now = static_cast<double>(step);
  if (step <= config.warmup_steps) return config.lr * now / warmup;
  if (config.schedule == "constant") return config.lr;
  if (config.schedule == "inverse-sqrt") return config.lr * std::sqrt(std::max(1.0, warmup) / now);
  const double length = std::max(1.0, static_cast<double>(steps) - warmup);
  const double progress = std::min(1.0, (now - warmup) / length);
  const double share = config.final_lr_share;
  return config.lr * (share + (1 - share) * 0.5 * (1 + std::cos(std::numbers::pi * progress)));
}

}  // namespace fwl
