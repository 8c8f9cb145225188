// What a trainer trains: parameters, batches with their losses, and the state carried between batches.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/base_model.h"
#include "model/language_model.h"
#include "parallel/rank_group.h"
#include "support/progress.h"
#include "weights/tensor_reader.h"

namespace fwl {

// A loss is a sum and a count until it is printed.
struct LossSum {
  double sum = 0;
  int64_t count = 0;
  double mean() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
  LossSum& operator+=(const LossSum& other) {
    sum += other.sum;
    count += other.count;
    return *this;
  }
};
void sum_over(RankGroup& ranks, const std::vector<LossSum*>& sums);  // replaces each by the sum over all ranks
LossSum loss_sum(const at::Tensor& losses, int64_t count);           // empty for undefined losses

struct BatchLosses {
  at::Tensor objective;   // the sum over the batch's targets, with its graph
  LossSum adapted, slow;  // count 0: not computed
};

// slow_share: lambda of lambda * L + (1 - lambda) * L'
BatchLosses batch_losses(const Losses& losses, int64_t count, double slow_share);

struct Validation {
  LossSum adapted, slow;
  double seconds = 0;

  void add(const Losses& losses, int64_t count);
};

// Facts about the task for the run record.
struct TaskFacts {
  int64_t tokens_per_step = 0;
  double flops_per_token = 0;  // of a training step
};

// With several ranks, each has its share of the rows of every batch. What is marked "together" every rank calls.
class TrainingTask {
 public:
  virtual ~TrainingTask() = default;

  virtual NamedTensors parameters() const = 0;                        // the trained ones
  virtual std::vector<std::string> step_parameter_names() const = 0;  // of step sizes and decays among them
  virtual TaskFacts facts() const = 0;
  virtual nlohmann::json data_facts() const = 0;  // hashes and counts, for the run record

  // Draws the next `count` batches and returns their number of targets, those of all ranks.
  virtual int64_t draw(int64_t count) = 0;
  // The losses of this rank's rows of a drawn batch. The slow loss may cost extra time.
  virtual BatchLosses losses(int64_t batch, bool wants_slow) = 0;

  // Drops the carried state, which may be damaged after a failed step.
  virtual void forget() = 0;

  virtual bool can_validate() const = 0;
  virtual Validation validate(const ProgressReport& progress) = 0;  // together; of all rows

  // The data position and the carried state of all rows, for checkpoints; append_state together.
  virtual nlohmann::json position() const = 0;
  virtual void append_state(TensorMap& tensors) const = 0;
  virtual void restore(const nlohmann::json& position, TensorReader& reader) = 0;

  virtual void save_model(const std::string& folder) const = 0;
  virtual std::vector<std::pair<std::string, double>> step_sizes() const = 0;  // and decays, for the record
};

}  // namespace fwl
