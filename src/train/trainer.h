// The training loop: steps, validations and checkpoints. A stopped run resumes as if it had not been stopped.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "files/file_lock.h"
#include "train/checkpoints.h"
#include "train/gradient_exchange.h"
#include "train/optimizer.h"
#include "train/run_record.h"
#include "train/step_guard.h"
#include "train/training_task.h"

namespace fwl {

struct StepReport {
  int64_t step = 0, steps = 0;
  LossSum adapted, slow;
  double norm = 0, learning_rate = 0;
  double seconds = 0;  // per step; like the two below, a mean since the last line
  double tokens_per_second = 0;
  double share_of_peak = 0;     // of the fastest matrix product
  double exchange_seconds = 0;  // waited for the sums of gradients, per step
  double seconds_left = 0;
  std::string skipped;  // why, or empty
};

struct ValidationReport {
  int64_t step = 0;
  Validation validation;
  bool is_best = false;
};

// Only the first rank reports. The library prints nothing; the caller decides what to show.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_start(int64_t parameters, const TaskFacts& facts, double peak_flops, int64_t done_steps) = 0;
  virtual void on_step(const StepReport& report) = 0;
  virtual void on_validation(const ValidationReport& report) = 0;
  virtual void on_checkpoint(int64_t step) = 0;
  virtual ProgressReport validation_progress() = 0;
};

struct TrainerOptions {
  OptimizerConfig optimizer;
  RunConfig run;
  std::string folder;     // checkpoints/, best/, model/, record.jsonl, steps.csv
  nlohmann::json config;  // all settings, for the record and to check on resume
  bool resumes = false;
  FileLock lock;  // on the folder, taken before anything is read or written there; the first rank holds it
};

// Every rank runs one, over its share of the rows; the first rank writes all files.
class Trainer {
 public:
  Trainer(TrainingTask& task, TrainerOptions options, TrainObserver& observer, RankGroup& ranks);

  // On an interrupt, saves a checkpoint and throws Interrupted.
  void run();

 private:
  void start_or_resume();
  std::optional<int64_t> checkpoint_to_resume();
  void resume(const std::string& checkpoint);
  StepReport take_step_or_give_up();
  void share_parameters();
  StepReport take_step();
  void report_step(StepReport& report, double started);
  void stop_if_hopeless() const;
  void validate();
  struct CarriedState;  // of the task, between two steps
  CarriedState carried_state() const;
  void save_checkpoint();
  void save_checkpoint(const CarriedState& carried);
  void stop_if_interrupted();
  void note(const nlohmann::json& line);
  void record_step(const StepReport& report);
  bool is_due(int64_t every) const { return step_ % every == 0 || step_ == options_.run.steps; }
  bool is_line_due() const { return step_ == 1 || is_due(options_.run.log_every); }
  std::string inside(const char* name) const;

  TrainingTask& task_;
  TrainerOptions options_;
  TrainObserver& observer_;
  RankGroup& ranks_;
  Optimizer optimizer_;
  c10::Device device_;
  GradientExchange exchange_;
  StepGuard guard_;
  Checkpoints checkpoints_;
  RunRecord record_;
  TaskFacts facts_;
  double peak_flops_ = 0;
  struct {
    double seconds = 0, waited_before = 0;
    int64_t steps = 0, tokens = 0;
  } since_line_;
  int64_t step_ = 0;
  int agreed_signal_ = 0;  // received by any rank before the last sum
  double best_loss_ = 0;
  bool has_best_ = false;
  bool is_validation_due_ = false;  // the one of the last step was interrupted
};

}  // namespace fwl
