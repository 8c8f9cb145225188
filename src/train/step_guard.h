// Skips steps that would damage the model; too many in a row end the run.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "train/train_config.h"

namespace fwl {

class StepGuard {
 public:
  explicit StepGuard(const RunConfig& config) : config_(config) {}

  // The reason to skip a step with this loss and gradient norm; empty: take it, and add it to the average.
  std::string objection(double loss, double norm);
  bool has_had_enough() const { return skipped_in_a_row_ >= config_.max_skipped; }
  int64_t skipped() const { return skipped_; }

  nlohmann::json to_json() const;
  void restore(const nlohmann::json& json);

 private:
  RunConfig config_;
  double usual_norm_ = 0;  // an average over about the last 100 steps
  int64_t steps_ = 0, skipped_ = 0, skipped_in_a_row_ = 0;
};

}  // namespace fwl
