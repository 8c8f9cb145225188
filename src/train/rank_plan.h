// Estimates a training run over several ranks from the plan of one process.
#pragma once

#include "train/plan.h"

namespace fwl {

struct RankOptions {
  int64_t ranks = 1;
  double device_peak = 0;     // FLOP/s of one rank's device; 0: ranks are like this process
  double device_share = 0.4;  // of that peak, which a training step reaches
  double bandwidth = 1.25e9;  // bytes per second that a rank sends and receives at a time
  double latency = 50e-6;     // seconds of one message
};

struct RankPlan {
  double sent_bytes = 0;          // by each rank in a step
  double seconds_computing = 0;   // forward and backward of the largest share of rows
  double seconds_exchanging = 0;  // if nothing overlaps with the backward pass
  double seconds_per_step = 0;
  double seconds_in_all = 0;
};

// Gradients are summed around a ring: every rank sends 2 (N - 1) / N of their bytes, in 2 (N - 1) messages. With a
// sharded optimizer it also sends its share of the weights to the others. On another device the update of the weights
// is not counted.
RankPlan plan_ranks(const Plan& plan, const TrainConfig& config, const RankOptions& options);

}  // namespace fwl
