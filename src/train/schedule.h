// The learning rate over the steps of a run.
#pragma once

#include "train/train_config.h"

namespace fwl {

// `step` counts from 1 to `steps`.
double learning_rate(const OptimizerConfig& config, int64_t step, int64_t steps);

}  // namespace fwl
