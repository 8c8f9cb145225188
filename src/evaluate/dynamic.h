// Dynamic evaluation: the whole model is moved by the gradient of every segment that it has just been scored on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/language_model.h"

namespace fwl {

struct DynamicOptions {
  bool is_rms = false;  // otherwise plain SGD
  double eta = 1e-4;    // rate
  double lambda = 0;    // pull back to the start (rms)
  double epsilon = 1e-5;
  bool reset = false;  // start anew wherever fast weights do, with every window or document
};

// While it lives, the model's weights want gradients and move; afterwards they are as they were, bit for bit.
class DynamicEvaluation {
 public:
  // mean_squares: of the gradients over training data, beside the model's parameters; empty for SGD.
  DynamicEvaluation(const LanguageModel& model, const DynamicOptions& options, std::vector<at::Tensor> mean_squares);
  ~DynamicEvaluation();
  DynamicEvaluation(const DynamicEvaluation&) = delete;
  DynamicEvaluation& operator=(const DynamicEvaluation&) = delete;

  // Puts the weights back to where they were.
  void reset();

  // Moves the weights by the gradient of a segment's mean loss.
  void learn(const at::Tensor& loss);

 private:
  NamedTensors parameters_;
  DynamicOptions options_;
  std::vector<at::Tensor> start_, mean_squares_;
  double mean_root_ = 0;
};

// The mean of the squared gradients of the segments' losses; `losses` gives one after the other, until it gives none.
std::vector<at::Tensor> mean_squared_gradients(const LanguageModel& model,
                                               const std::function<at::Tensor()>& next_loss);

}  // namespace fwl
