#include "train/rank_plan.h"

namespace fwl {

RankPlan plan_ranks(const Plan& plan, const TrainConfig& config, const RankOptions& options) {
  const auto ranks = static_cast<double>(options.ranks);
  const auto rows = static_cast<double>(config.data.rows);
  const double share = static_cast<double>((config.data.rows + options.ranks - 1) / options.ranks) / rows;
  const double others = (ranks - 1) / ranks;
  const bool is_here = options.device_peak == 0;
  RankPlan result;
  const double flops = total(plan.parts).training_flops * static_cast<double>(plan.tokens_per_step) * share;
  result.seconds_computing = is_here
                                 ? plan.seconds_per_batch * static_cast<double>(config.optimizer.accumulation) * share
                                 : flops / (options.device_peak * options.device_share);
  const double parts = config.optimizer.is_sharded ? 3 : 2;
  result.sent_bytes = parts * others * plan.memory.gradients;
  if (options.ranks > 1)
    result.seconds_exchanging = result.sent_bytes / options.bandwidth + parts * (ranks - 1) * options.latency;
  double updating = is_here ? plan.seconds_per_update : 0;
  if (config.optimizer.is_sharded) updating /= ranks;
  result.seconds_per_step = result.seconds_computing + result.seconds_exchanging + updating;
  result.seconds_in_all = result.seconds_per_step * static_cast<double>(config.run.steps);
  return result;
}

}  // namespace fwl
