#include "train/optimizer.h"

#include <algorithm>
#include <cmath>

#include "engine/torch.h"

namespace fwl {

Optimizer::Optimizer(NamedTensors parameters, const std::vector<std::string>& step_names, const OptimizerConfig& config,
                     RankGroup& ranks)
    : config_(config), parameters_(std::move(parameters)), ranks_(ranks) {
  groups_ = {{{}, 1, config.weight_decay}, {{}, 1, 0}, {{}, config.step_lr_factor, 0}};
  own_ = config.is_sharded ? ranks.share_of(count()) : RowShare{0, count()};
  const auto options = parameters_.empty() ? at::TensorOptions() : parameters_.front().second.options();
  first_moments_ = at::zeros({own_.count}, options.requires_grad(false));
  second_moments_ = at::zeros_like(first_moments_);
  int64_t before = 0;  // numbers of earlier parameters
  for (auto& [name, tensor] : parameters_) {
    TORCH_CHECK(tensor.is_contiguous() && tensor.options().type_equal(options), name);
    tensor.requires_grad_();
    const int64_t start = std::max(before, own_.first),
                  end = std::min(before + tensor.numel(), own_.first + own_.count);
    if (start < end) {
      const bool is_step = std::ranges::find(step_names, name) != step_names.end();
      const auto moments = [&](const at::Tensor& all) { return all.narrow(0, start - own_.first, end - start); };
      groups_[is_step            ? 2
              : tensor.dim() > 1 ? 0
                                 : 1]
          .slices.push_back({tensor, start - before, end - start, moments(first_moments_), moments(second_moments_)});
    }
    before += tensor.numel();
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
  if (config_.is_sharded) exchange_parameters();
  for (const auto& [name, tensor] : parameters_) torch::autograd::impl::bump_version(tensor);
}

// Parameters without a gradient, e.g. of an unused layer, do not change.
void Optimizer::step_group(const Group& group, double learning_rate) const {
  std::vector<at::Tensor> parameters, gradients, first, second, steps;
  for (const auto& slice : group.slices) {
    const auto& gradient = slice.parameter.grad();
    if (!gradient.defined()) continue;
    parameters.push_back(slice.of(slice.parameter.detach()));
    gradients.push_back(slice.of(gradient.contiguous()));
    first.push_back(slice.first_moments);
    second.push_back(slice.second_moments);
    steps.push_back(
        at::full({}, static_cast<double>(updates_), slice.parameter.options().dtype(at::kFloat).requires_grad(false)));
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

// The parts of all parameters' numbers [range.first, range.first + range.count), one parameter after another.
std::vector<at::Tensor> Optimizer::parts_of(RowShare range) const {
  std::vector<at::Tensor> parts;
  int64_t before = 0;
  for (const auto& [name, tensor] : parameters_) {
    const int64_t start = std::max(before, range.first);
    const int64_t end = std::min(before + tensor.numel(), range.first + range.count);
    if (start < end) parts.push_back(tensor.detach().view(-1).narrow(0, start - before, end - start));
    before += tensor.numel();
  }
  return parts;
}

// Every rank sends the numbers that it has updated.
void Optimizer::exchange_parameters() {
  for (int64_t rank = 0; rank < ranks_.size(); ++rank) {
    const auto parts = parts_of(row_share(count(), rank, ranks_.size()));
    if (parts.empty()) continue;
    const auto flat = at::cat(parts);
    ranks_.broadcast(flat, rank);
    int64_t before = 0;
    for (const auto& part : parts) {
      part.copy_(flat.narrow(0, before, part.numel()));
      before += part.numel();
    }
  }
}

at::Tensor Optimizer::all_of(const at::Tensor& moments) const {
  return config_.is_sharded ? gather_rows(ranks_, moments, count()) : moments;
}

void Optimizer::append_to(TensorMap& tensors) const {
  const auto first = all_of(first_moments_), second = all_of(second_moments_);
  int64_t before = 0;
  for (const auto& [name, tensor] : parameters_) {
    const auto of_parameter = [&](const at::Tensor& all) {
      return all.narrow(0, before, tensor.numel()).view(tensor.sizes());
    };
    tensors["model." + name] = tensor.detach();
    tensors["adam.first." + name] = of_parameter(first);
    tensors["adam.second." + name] = of_parameter(second);
    before += tensor.numel();
  }
  tensors["adam.updates"] = numbers_tensor({updates_});
}

void Optimizer::take_from(TensorReader& reader) {
  const at::NoGradGuard no_grad;
  const auto first = at::zeros({count()}, first_moments_.options().device(at::kCPU)), second = at::zeros_like(first);
  int64_t before = 0;
  for (const auto& [name, tensor] : parameters_) {
    const auto take = [&, shape = tensor.sizes(), type = tensor.scalar_type()](const std::string& prefix) {
      return reader.take_finite(prefix + name, shape, type);
    };
    tensor.copy_(take("model."));
    first.narrow(0, before, tensor.numel()).copy_(take("adam.first.").view(-1));
    second.narrow(0, before, tensor.numel()).copy_(take("adam.second.").view(-1));
    before += tensor.numel();
  }
  first_moments_.copy_(first.narrow(0, own_.first, own_.count));
  second_moments_.copy_(second.narrow(0, own_.first, own_.count));
  updates_ = reader.take_number("adam.updates");
}

}  // namespace fwl
