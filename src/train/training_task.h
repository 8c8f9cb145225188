// What a trainer trains: parameters, batches with their losses, and what is carried from one batch to the next.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/base_model.h"
#include "model/language_model.h"
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
LossSum loss_sum(const at::Tensor& losses, int64_t count);  // nothing of undefined losses

struct BatchLosses {
  at::Tensor objective;   // the sum over the batch's targets, with its graph
  LossSum adapted, slow;  // a count of 0: not computed
};

// slow_share: lambda of lambda * L + (1 - lambda) * L'
BatchLosses batch_losses(const Losses& losses, int64_t count, double slow_share);

struct Validation {
  LossSum adapted, slow;
  double seconds = 0;

  void add(const Losses& losses, int64_t count);
};

// What a run record says about the task.
struct TaskFacts {
  int64_t tokens_per_step = 0;
  double flops_per_token = 0;  // of a training step
};

class TrainingTask {
 public:
  virtual ~TrainingTask() = default;

  virtual NamedTensors parameters() const = 0;                        // those that are trained
  virtual std::vector<std::string> step_parameter_names() const = 0;  // of step sizes and decays among them
  virtual TaskFacts facts() const = 0;
  virtual nlohmann::json data_facts() const = 0;  // hashes and counts, for the run record

  // Draws the next `count` batches, and says how many targets they have.
  virtual int64_t draw(int64_t count) = 0;
  // The losses of one of them, in order. The slow loss may cost time of its own.
  virtual BatchLosses losses(int64_t batch, bool wants_slow) = 0;

  // Drops what is carried from batch to batch: after a step that went wrong it may be useless.
  virtual void forget() = 0;

  virtual bool can_validate() const = 0;
  virtual Validation validate(const ProgressReport& progress) = 0;

  // Where the data stands and what is carried over, for checkpoints.
  virtual nlohmann::json position() const = 0;
  virtual void append_state(TensorMap& tensors) const = 0;
  virtual void restore(const nlohmann::json& position, TensorReader& reader) = 0;

  virtual void save_model(const std::string& folder) const = 0;
  virtual std::vector<std::pair<std::string, double>> step_sizes() const = 0;  // and decays, for the record
};

}  // namespace fwl
