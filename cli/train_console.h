// Prints a training run, one line every few steps, in the style of llm.c.
#pragma once

#include "cli/console.h"
#include "train/trainer.h"

namespace fwl {

class TrainConsole : public TrainObserver {
 public:
  TrainConsole(Console& console, const RunConfig& run)
      : console_(console), log_every_(run.log_every), steps_(run.steps) {}

  void on_start(int64_t parameters, const TaskFacts& facts, double peak_flops, int64_t done_steps) override;
  void on_step(const StepReport& report) override;
  void on_validation(const ValidationReport& report) override;
  void on_checkpoint(int64_t step) override;
  ProgressReport validation_progress() override { return console_.progress("validate"); }

 private:
  Console& console_;
  int64_t log_every_, steps_;
};

// Makes the folder of a run and locks it; the first rank holds the lock for all.
FileLock lock_run(const std::string& folder, RankGroup& ranks);

std::string step_line(const StepReport& report);

}  // namespace fwl
