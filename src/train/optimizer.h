// Adam over named parameters: clipping, weight decay of matrices, a faster rate for step sizes and decays.
#pragma once

#include <vector>

#include "base/base_model.h"
#include "train/train_config.h"
#include "weights/tensor_reader.h"

namespace fwl {

class Optimizer {
 public:
  // Makes every parameter one that wants gradients. `step_names`: those that learn step_lr_factor times as fast.
  Optimizer(NamedTensors parameters, const std::vector<std::string>& step_names, const OptimizerConfig& config);

  void clear_gradients();
  double gradient_norm() const;  // over all parameters; not finite where a gradient is not
  // Scales the gradients down to the clipping norm, and moves the parameters.
  void step(double learning_rate, double norm);

  const NamedTensors& parameters() const { return parameters_; }
  int64_t count() const;  // numbers in all of them

  // Parameters and moments, for checkpoints.
  void append_to(TensorMap& tensors) const;
  void take_from(TensorReader& reader);

 private:
  struct Group {
    std::vector<at::Tensor> parameters, first_moments, second_moments;
    double rate_factor = 1, weight_decay = 0;
  };
  void step_group(const Group& group, double learning_rate) const;

  OptimizerConfig config_;
  NamedTensors parameters_;
  std::vector<at::Tensor> first_moments_, second_moments_;  // beside parameters_
  std::vector<Group> groups_;
  int64_t updates_ = 0;
};

}  // namespace fwl
