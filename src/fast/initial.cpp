// Starting values of the layer: weights, and step sizes that fit the scale of the data.
#include <torch/torch.h>

#include <cmath>

#include "fast/layer.h"
#include "fast/passes.h"
#include "support/error.h"

namespace fwl {
namespace {

constexpr double matrix_step_times_key_norm = 3e-3;
constexpr double bias_step_inside = 1e-5, bias_step_outside = 1e-3;

at::Tensor log_steps(double input_key_norm, double hidden_key_norm, const at::TensorOptions& options) {
  const double U = matrix_step_times_key_norm / input_key_norm, W = matrix_step_times_key_norm / hidden_key_norm;
  const std::vector<double> values = {U, bias_step_inside, W, bias_step_outside, bias_step_outside, bias_step_outside};
  return at::tensor(values, at::kDouble).log().to(options.dtype()).to(options.device());
}

}  // namespace

LayerParameters initial_parameters(int64_t width, int64_t layer_width, int64_t output_width, bool is_residual,
                                   const at::TensorOptions& options) {
  if (width <= 0 || layer_width <= 0 || output_width <= 0)
    fail("FastWeightLayer", "widths > 0", c10::str(width, ", ", layer_width, ", ", output_width));
  LayerParameters parameters;
  auto& slow = parameters.slow;
  slow.U = at::randn({width, layer_width}, options) / std::sqrt(static_cast<double>(width));
  slow.a = at::zeros({layer_width}, options);
  slow.W = is_residual ? at::zeros({layer_width, output_width}, options)
                       : at::randn({layer_width, output_width}, options) / std::sqrt(static_cast<double>(layer_width));
  slow.b = at::zeros({output_width}, options);
  slow.gain = at::ones({output_width}, options);
  slow.shift = at::zeros({output_width}, options);
  // For z1 of variance 1, relu(z1)^2 has a mean square of 3/2.
  parameters.log_steps = log_steps(static_cast<double>(width), 1.5 * static_cast<double>(layer_width), options);
  return parameters;
}

at::Tensor log_steps_from_data(const at::Tensor& hidden, const LayerParameters& parameters) {
  const at::NoGradGuard no_grad;
  const auto slow = slow_pass(hidden, parameters.slow, {});
  const auto mean_norm = [](const at::Tensor& keys) { return keys.square().sum(-1).mean().item<double>(); };
  return log_steps(std::max(1e-12, mean_norm(hidden)), std::max(1e-12, mean_norm(slow.v)), hidden.options());
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
