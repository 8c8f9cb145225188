// Estimates the cost of a training run: parameters, operations and memory by part, and time from a few measured steps.
#pragma once

#include <c10/core/Device.h>

#include <string>
#include <vector>

#include "model/cost.h"
#include "support/progress.h"
#include "train/train_config.h"

namespace fwl {

struct PlanMemory {
  double weights = 0, gradients = 0, moments = 0;  // bytes
  double activations = 0;                          // measured on some rows, scaled to all
  double total() const { return weights + gradients + moments + activations; }
};

struct Plan {
  std::vector<PartCost> parts;
  PlanMemory memory;
  int64_t tokens_per_step = 0;
  double peak_flops = 0;         // of the fastest matrix product on this machine
  int64_t measured_rows = 0;     // sequences of the measured batch …
  int64_t measured_tokens = 0;   // … and tokens of each
  double seconds_per_batch = 0;  // forward and backward of all rows
  double seconds_per_update = 0;
  double seconds_per_step = 0;
  double seconds_in_all = 0;  // without validations
};

// Steps run on random tokens of a Zipf distribution. A batch that would take longer than `patience` seconds is measured
// in part, with fewer rows and then fewer tokens.
Plan make_plan(const TrainConfig& config, int64_t vocabulary_size, double patience, c10::Device device,
               const ProgressReport& progress);

}  // namespace fwl
