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
  const auto [width, layer_width, output_width, is_residual, decay, step_scale] = shape;
  if (width <= 0 || layer_width <= 0 || output_width <= 0)
    fail("FastWeightLayer", "widths > 0", c10::str(width, ", ", layer_width, ", ", output_width));
  const auto zero = Initial::constant(0);
  LayerParameters parameters;
  auto& slow = parameters.slow;
  slow.U = source.tensor("fast.U", {width, layer_width}, Initial::fan_in(width));
  slow.a = source.tensor("fast.a", {layer_width}, zero);
  slow.W = source.tensor("fast.W", {layer_width, output_width}, is_residual ? zero : Initial::fan_in(layer_width));
  slow.b = source.tensor("fast.b", {output_width}, zero);
  slow.gain = source.tensor("fast.gain", {output_width}, Initial::constant(1));
  slow.shift = source.tensor("fast.shift", {output_width}, zero);
  // For z1 of variance 1, relu(z1)^2 has a mean square of 3/2.
  const auto steps = log_steps(static_cast<double>(width), 1.5 * static_cast<double>(layer_width), step_scale);
  parameters.log_steps = source.tensor("fast.log_steps", {6}, Initial::vector(steps));
  if (decay > 0)
    parameters.decay_logits = source.tensor("fast.decay_logits", {6}, Initial::constant(std::log(decay / (1 - decay))));
  return parameters;
}

LayerParameters initial_parameters(int64_t width, int64_t layer_width, int64_t output_width, bool is_residual,
                                   const at::TensorOptions& options) {
  FreshWeights fresh(static_cast<uint64_t>(at::randint(int64_t{1} << 62, {1}, at::kLong).item<int64_t>()), options);
  return layer_parameters({width, layer_width, output_width, is_residual, 0, 1}, fresh);
}

at::Tensor log_steps_from_data(const at::Tensor& hidden, const LayerParameters& parameters, double scale) {
  const at::NoGradGuard no_grad;
  const auto slow = slow_pass(hidden, parameters.slow, {});
  const auto mean_norm = [](const at::Tensor& keys) { return keys.square().sum(-1).mean().item<double>(); };
  const auto steps = log_steps(std::max(1e-12, mean_norm(hidden)), std::max(1e-12, mean_norm(slow.v)), scale);
  return at::tensor(steps, at::kDouble).to(hidden.options());
}

Form form_from_name(const std::string& name) {
  if (name == "quadratic") return Form::quadratic;
  if (name == "chunked") return Form::chunked;
  if (name == "recurrent") return Form::recurrent;
  fail("form", "quadratic, chunked or recurrent", "'" + name + "'");
}

GradientPoint gradient_point_from_name(const std::string& name) {
  if (name == "slow") return GradientPoint::slow;
  if (name == "boundary") return GradientPoint::boundary;
  fail("gradient_at", "slow or boundary", "'" + name + "'");
}

}  // namespace fwl
