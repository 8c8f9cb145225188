#include "train/optimizer.h"

#include <algorithm>

#include <cmath>

#include "engine/torch.h"

namespace fwl {
namespace {

// Takes a tensor of the file into one that others share.
void take_into(TensorReader& reader, const std::string& name, const at::Tensor& target) {
  const at::NoGradGuard no_grad;
  target.copy_(reader.take_finite(name, target.sizes(), target.scalar_type()));
}

}  // namespace

Optimizer::Optimizer(NamedTensors parameters, const std::vector<std::string>& step_names, const OptimizerConfig& config)
    : config_(config), parameters_(std::move(parameters)) {
  groups_ = {{{}, {}, {}, 1, config.weight_decay}, {{}, {}, {}, 1, 0}, {{}, {}, {}, config.step_lr_factor, 0}};
  for (auto& [name, tensor] : parameters_) {
    tensor.requires_grad_();
    first_moments_.push_back(at::zeros_like(tensor));
    second_moments_.push_back(at::zeros_like(tensor));
    const bool is_step = std::ranges::find(step_names, name) != step_names.end();
    auto& group = groups_[is_step ? 2 : tensor.dim() > 1 ? 0 : 1];
    group.parameters.push_back(tensor);
    group.first_moments.push_back(first_moments_.back());
    group.second_moments.push_back(second_moments_.back());
  }
}

int64_t Optimizer::count() const {
  int64_t numbers = 0;
  for (const auto& [name, tensor] : parameters_) numbers += tensor.numel();
  return numbers;
}

void Optimizer::clear_gradients() {
  for (auto& [name, tensor] : parameters_) tensor.mutable_grad().reset();
}

double Optimizer::gradient_norm() const {
  std::vector<at::Tensor> gradients;
  for (const auto& [name, tensor] : parameters_)
    if (tensor.grad().defined()) gradients.push_back(tensor.grad());
  if (gradients.empty()) return 0;
  double sum = 0;
  for (const auto& norm : at::_foreach_norm(gradients)) sum += std::pow(norm.item<double>(), 2);
  return std::sqrt(sum);
}

void Optimizer::step(double learning_rate, double norm) {
  const at::NoGradGuard no_grad;
  if (config_.clip_norm > 0 && norm > config_.clip_norm)
    for (auto& [name, tensor] : parameters_)
      if (tensor.grad().defined()) tensor.mutable_grad().mul_(config_.clip_norm / norm);
  ++updates_;
  for (const auto& group : groups_) step_group(group, learning_rate);
  for (const auto& [name, tensor] : parameters_) torch::autograd::impl::bump_version(tensor);
}

// Parameters without a gradient, e.g. of a layer that the objective leaves out, stay as they are.
void Optimizer::step_group(const Group& group, double learning_rate) const {
  std::vector<at::Tensor> parameters, gradients, first, second, steps;
  for (size_t index = 0; index < group.parameters.size(); ++index) {
    const auto& parameter = group.parameters[index];
    if (!parameter.grad().defined()) continue;
    parameters.push_back(parameter);
    gradients.push_back(parameter.grad());
    first.push_back(group.first_moments[index]);
    second.push_back(group.second_moments[index]);
    steps.push_back(at::full({}, static_cast<double>(updates_), parameter.options().dtype(at::kFloat)));
  }
  if (parameters.empty()) return;
  const double rate = learning_rate * group.rate_factor;
  const auto& [beta1, beta2, epsilon] = std::tie(config_.beta1, config_.beta2, config_.epsilon);
  if (config_.name == "adamw")
    at::_fused_adamw_(parameters, gradients, first, second, {}, steps, rate, beta1, beta2, group.weight_decay, epsilon,
                      false, false);
  else
    at::_fused_adam_(parameters, gradients, first, second, {}, steps, rate, beta1, beta2, group.weight_decay, epsilon,
                     false, false);
}

void Optimizer::append_to(TensorMap& tensors) const {
  for (size_t index = 0; index < parameters_.size(); ++index) {
    const auto& [name, tensor] = parameters_[index];
    tensors["model." + name] = tensor.detach();
    tensors["adam.first." + name] = first_moments_[index];
    tensors["adam.second." + name] = second_moments_[index];
  }
  tensors["adam.updates"] = numbers_tensor({updates_});
}

void Optimizer::take_from(TensorReader& reader) {
  for (size_t index = 0; index < parameters_.size(); ++index) {
    const auto& [name, tensor] = parameters_[index];
    take_into(reader, "model." + name, tensor);
    take_into(reader, "adam.first." + name, first_moments_[index]);
    take_into(reader, "adam.second." + name, second_moments_[index]);
  }
  updates_ = reader.take_number("adam.updates");
}

}  // namespace fwl
