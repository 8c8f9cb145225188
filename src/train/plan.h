// What a training run will take: parameters, operations and memory by part, and time from a few measured steps.
#pragma once

#include <string>
#include <vector>

#include "model/cost.h"
#include "support/progress.h"
#include "train/train_config.h"

namespace fwl {

struct PlanMemory {
  double weights = 0, gradients = 0, moments = 0;  // bytes
  double activations = 0;                          // measured for the rows that were tried, scaled to all of them
  double total() const { return weights + gradients + moments + activations; }
};

struct Plan {
  std::vector<PartCost> parts;
  PlanMemory memory;
  int64_t tokens_per_step = 0;
  double peak_flops = 0;         // of the best matrix product here
  int64_t measured_rows = 0;     // sequences of the batch that was measured …
  int64_t measured_tokens = 0;   // … and tokens of each
  double seconds_per_batch = 0;  // forward and backward of all rows
  double seconds_per_update = 0;
  double seconds_per_step = 0;
  double seconds_in_all = 0;  // without validations
};

// `vocabulary_size` comes from the data, or from whoever asks. Steps run on random words of a Zipf distribution; a
// batch that would take longer than `patience` seconds is measured in part, with fewer rows and then fewer tokens.
Plan make_plan(const TrainConfig& config, int64_t vocabulary_size, double patience, const ProgressReport& progress);

}  // namespace fwl
