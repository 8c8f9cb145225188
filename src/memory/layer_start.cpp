// Starting values of the layer: weights, and step sizes that fit the scale of the data.

#include <cmath>

#include "engine/torch.h"
#include "memory/layer.h"
#include "memory/passes.h"
#include "support/error.h"

namespace fwl {
namespace {

constexpr double matrix_step_times_key_norm = 3e-3;
constexpr double bias_step_inside = 1e-5, bias_step_outside = 1e-3;

std::vector<double> log_steps(double input_key_norm, double hidden_key_norm, double scale) {
  const double U = matrix_step_times_key_norm / input_key_norm, W = matrix_step_times_key_norm / hidden_key_norm;
  std::vector<double> values = {U, bias_step_inside, W, bias_step_outside, bias_step_outside, bias_step_outside};
  for (auto& value : values) value = std::log(scale * value);
  return values;
}

}  // namespace

LayerParameters layer_parameters(const LayerShape& shape, WeightSource& source) {
  const auto [hidden_size, layer_size, output_size, is_residual, decay, step_scale] = shape;
  if (hidden_size <= 0 || layer_size <= 0 || output_size <= 0)
    fail("FastWeightLayer", "sizes > 0", c10::str(hidden_size, ", ", layer_size, ", ", output_size));
  const auto zero = Initial::constant(0);
  LayerParameters parameters;
  auto& slow = parameters.slow;
  slow.U = source.tensor("fast.U", {hidden_size, layer_size}, Initial::fan_in(hidden_size));
  slow.a = source.tensor("fast.a", {layer_size}, zero);
  slow.W = source.tensor("fast.W", {layer_size, output_size}, is_residual ? zero : Initial::fan_in(layer_size));
  slow.b = source.tensor("fast.b", {output_size}, zero);
  slow.gain = source.tensor("fast.gain", {output_size}, Initial::constant(1));
  slow.shift = source.tensor("fast.shift", {output_size}, zero);
  // For z1 of variance 1, relu(z1)^2 has a mean square of 3/2.
  const auto steps = log_steps(static_cast<double>(hidden_size), 1.5 * static_cast<double>(layer_size), step_scale);
  parameters.log_steps = source.tensor("fast.log_steps", {6}, Initial::vector(steps));
  if (decay > 0)
    parameters.decay_logits = source.tensor("fast.decay_logits", {6}, Initial::constant(std::log(decay / (1 - decay))));
  return parameters;
}

LayerParameters initial_parameters(int64_t hidden_size, int64_t layer_size, int64_t output_size, bool is_residual,
                                   const at::TensorOptions& options) {
  FreshWeights fresh(static_cast<uint64_t>(at::randint(int64_t{1} << 62, {1}, at::kLong).item<int64_t>()), options);
  return layer_parameters({hidden_size, layer_size, output_size, is_residual, 0, 1}, fresh);
}

at::Tensor log_steps_from_data(const at::Tensor& hidden, const LayerParameters& parameters, double scale) {
  const at::NoGradGuard no_grad;
  const auto forward = layer_forward(hidden, parameters.slow, {});
  const auto mean_norm = [](const at::Tensor& keys) { return keys.square().sum(-1).mean().item<double>(); };
  const auto steps = log_steps(std::max(1e-12, mean_norm(hidden)), std::max(1e-12, mean_norm(forward.v)), scale);
  return at::tensor(steps, at::kDouble).to(hidden.options());
}

GradientAt gradient_at_from_name(const std::string& name) {
  if (name == "slow") return GradientAt::slow;
  if (name == "boundary") return GradientAt::boundary;
  fail("gradient_at", "slow or boundary", "'" + name + "'");
}

}  // namespace fwl
