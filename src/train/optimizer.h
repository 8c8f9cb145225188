// Adam over named parameters, with clipping, weight decay of matrices, and a higher learning rate for step sizes.
#pragma once

#include <vector>

#include "base/base_model.h"
#include "parallel/rank_group.h"
#include "train/train_config.h"
#include "weights/tensor_reader.h"

namespace fwl {

class Optimizer {
 public:
  // Makes every parameter require gradients. `step_names` learn at step_lr_factor times the learning rate.
  // Parameters are contiguous and of one type.
  Optimizer(NamedTensors parameters, const std::vector<std::string>& step_names, const OptimizerConfig& config,
            RankGroup& ranks);

  void clear_gradients();
  double gradient_norm() const;  // over all parameters; not finite if any gradient is not
  // Clips the gradients and updates the parameters.
  void step(double learning_rate, double norm);

  const NamedTensors& parameters() const { return parameters_; }
  int64_t count() const;  // number of parameter values

  // Parameters and moments, for checkpoints that do not depend on the number of ranks; every rank calls them.
  void append_to(TensorMap& tensors) const;
  void take_from(TensorReader& reader);

 private:
  // Numbers [first, first + count) of a parameter that this rank updates, and their moments.
  struct Slice {
    at::Tensor parameter;
    int64_t first = 0, count = 0;
    at::Tensor first_moments, second_moments;

    at::Tensor of(const at::Tensor& whole) const { return whole.view(-1).narrow(0, first, count); }
  };
  struct Group {
    std::vector<Slice> slices;
    double rate_factor = 1, weight_decay = 0;
  };
  void step_group(const Group& group, double learning_rate) const;
  std::vector<at::Tensor> parts_of(RowShare range) const;
  void exchange_parameters();
  at::Tensor all_of(const at::Tensor& moments) const;

  OptimizerConfig config_;
  NamedTensors parameters_;
  RankGroup& ranks_;
  RowShare own_;                               // of all parameters' numbers, one parameter after another
  at::Tensor first_moments_, second_moments_;  // of the own ones
  std::vector<Group> groups_;
  int64_t updates_ = 0;
};

}  // namespace fwl
