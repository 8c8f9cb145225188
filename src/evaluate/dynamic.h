// Dynamic evaluation: after each scored segment, all weights are updated by the gradient of its loss.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/language_model.h"

namespace fwl {

struct DynamicOptions {
  bool is_rms = false;  // otherwise plain SGD
  double eta = 1e-4;    // learning rate
  double lambda = 0;    // decay towards the initial weights (rms)
  double epsilon = 1e-5;
  bool reset = false;  // reset the weights wherever fast weights are reset: at every window or document
};

// While this object exists, the model's weights require gradients and change; its destructor restores them exactly.
class DynamicEvaluation {
 public:
  // mean_squares: of the gradients over training data, one per parameter; empty for SGD.
  DynamicEvaluation(const LanguageModel& model, const DynamicOptions& options, std::vector<at::Tensor> mean_squares);
  ~DynamicEvaluation();
  DynamicEvaluation(const DynamicEvaluation&) = delete;
  DynamicEvaluation& operator=(const DynamicEvaluation&) = delete;

  // Restores the weights.
  void reset();

  // Updates the weights by the gradient of a segment's mean loss.
  void learn(const at::Tensor& loss);

 private:
  NamedTensors parameters_;
  DynamicOptions options_;
  std::vector<at::Tensor> start_, mean_squares_;
  double mean_root_ = 0;
};

// The mean squared gradient of the segments' losses; `next_loss` returns one per call, undefined at the end.
std::vector<at::Tensor> mean_squared_gradients(const LanguageModel& model,
                                               const std::function<at::Tensor()>& next_loss);

}  // namespace fwl
