#include "evaluate/dynamic.h"

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {

void clear_gradients(const NamedTensors& parameters) {
  for (const auto& [name, tensor] : parameters) tensor.mutable_grad().reset();
}

}  // namespace

DynamicEvaluation::DynamicEvaluation(const LanguageModel& model, const DynamicOptions& options,
                                     std::vector<at::Tensor> mean_squares)
    : parameters_(model.parameters()), options_(options), mean_squares_(std::move(mean_squares)) {
  if (options_.is_rms && mean_squares_.size() != parameters_.size())
    fail("dynamic evaluation", "gradient statistics of training data", "none", "--train-tokens names the data");
  double roots = 0, numbers = 0;
  for (auto& [name, tensor] : parameters_) {
    start_.push_back(tensor.detach().clone());
    tensor.requires_grad_();
  }
  for (const auto& square : mean_squares_) {
    roots += square.sqrt().sum(at::kDouble).item<double>();
    numbers += static_cast<double>(square.numel());
  }
  mean_root_ = numbers > 0 ? roots / numbers : 0;
}

DynamicEvaluation::~DynamicEvaluation() {
  clear_gradients(parameters_);
  for (auto& [name, tensor] : parameters_) tensor.requires_grad_(false);
  reset();
}

void DynamicEvaluation::reset() {
  const at::NoGradGuard no_grad;
  for (size_t index = 0; index < parameters_.size(); ++index) parameters_[index].second.copy_(start_[index]);
}

// SGD: theta -= eta g. RMS: theta += lambda rate (theta0 - theta) - eta g / (sqrt(ms) + eps), where rate is sqrt(ms)
// relative to its mean over all weights, at most 1 / lambda.
void DynamicEvaluation::learn(const at::Tensor& loss) {
  loss.backward();
  const at::NoGradGuard no_grad;
  for (size_t index = 0; index < parameters_.size(); ++index) {
    auto& tensor = parameters_[index].second;
    if (!tensor.grad().defined()) continue;
    if (!options_.is_rms) {
      tensor.sub_(tensor.grad(), options_.eta);
      continue;
    }
    const auto root = mean_squares_[index].sqrt();
    const auto move = tensor.grad() / (root + options_.epsilon) * -options_.eta;
    if (options_.lambda > 0) {
      const auto rate = (root / mean_root_).clamp_max(1 / options_.lambda);
      tensor.add_(rate * (start_[index] - tensor), options_.lambda);
    }
    tensor.add_(move);
  }
  clear_gradients(parameters_);
}

std::vector<at::Tensor> mean_squared_gradients(const LanguageModel& model,
                                               const std::function<at::Tensor()>& next_loss) {
  const auto parameters = model.parameters();
  std::vector<at::Tensor> squares;
  for (const auto& [name, tensor] : parameters) {
    tensor.requires_grad_();
    squares.push_back(at::zeros_like(tensor, at::TensorOptions().requires_grad(false)));
  }
  int64_t count = 0;
  for (auto loss = next_loss(); loss.defined(); loss = next_loss(), ++count) {
    loss.backward();
    const at::NoGradGuard no_grad;
    for (size_t index = 0; index < parameters.size(); ++index)
      if (const auto& gradient = parameters[index].second.grad(); gradient.defined())
        squares[index].addcmul_(gradient, gradient);
    clear_gradients(parameters);
  }
  for (const auto& [name, tensor] : parameters) tensor.requires_grad_(false);
  if (count == 0) fail("gradient statistics", "at least one segment of training data", "none");
  for (auto& square : squares) square.div_(static_cast<double>(count));
  return squares;
}

}  // namespace fwl
