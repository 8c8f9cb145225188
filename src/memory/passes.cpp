#include "memory/passes.h"

#include "engine/products.h"
#include "engine/torch.h"
#include "memory/activation.h"

namespace fwl {
namespace {

// A vector weight beside B,T,N values: shared (N), or one per sequence (B,N).
at::Tensor beside_tokens(const at::Tensor& vector) {
  return vector.dim() == 2 ? vector.unsqueeze(1) : vector;
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& matrix, const at::Tensor& bias) {
  return product(x, matrix) + beside_tokens(bias);
}

at::Tensor finish(const at::Tensor& h, const at::Tensor& f, bool is_residual) {
  return is_residual ? h + f : f;
}

FastLinearOutput fast_linear(const FastLinearInput& input, Form form, int64_t chunk_tokens) {
  return form == Form::quadratic ? fast_linear_quadratic(input) : fast_linear_chunked(input, chunk_tokens);
}

}  // namespace

SlowPass slow_pass(const at::Tensor& h, const WeightSet& point, const LayerOptions& options) {
  SlowPass slow;
  slow.h = h;
  slow.z1 = linear(h, point.U, point.a);             // B,T,H
  slow.v = squared_relu(slow.z1);                    // B,T,H
  const auto z2 = linear(slow.v, point.W, point.b);  // B,T,D
  auto f = z2;
  if (options.has_layer_norm) {
    const auto [normal, inverse] = normalise(z2, options.epsilon);
    slow.normal = normal;
    slow.inverse = inverse;
    f = normal * beside_tokens(point.gain) + beside_tokens(point.shift);
  }
  slow.y = finish(h, f, options.is_residual);
  return slow;
}

InnerGradients inner_gradients(const SlowPass& slow, const at::Tensor& dy, const WeightSet& point,
                               const LayerOptions& options) {
  InnerGradients gradients;
  gradients.h = slow.h;
  gradients.v = slow.v;
  gradients.dz2 = dy;
  if (options.has_layer_norm) {
    gradients.dg = dy * slow.normal;
    gradients.ds = dy;
    const auto dn = dy * beside_tokens(point.gain);
    gradients.dz2 = slow.inverse * (dn - dn.mean(-1, true) - slow.normal * (dn * slow.normal).mean(-1, true));
  }
  gradients.dz1 = input_gradient(gradients.dz2, point.W, slow.z1);  // B,T,H
  if (!options.is_first_order) return gradients;
  for (auto* tensor : {&gradients.h, &gradients.v, &gradients.dz1, &gradients.dz2, &gradients.dg, &gradients.ds})
    if (tensor->defined()) *tensor = tensor->detach();
  return gradients;
}

FastPass fast_pass(const SlowPass& slow, const InnerGradients& gradients, const WeightSet& point, const WeightSet& base,
                   const WeightSet& steps, const LayerOptions& options, Form form, int64_t chunk_tokens) {
  FastPass fast;
  const auto first =
      fast_linear({slow.z1, slow.h, gradients.h, gradients.dz1, base.U, base.a, steps.U, steps.a}, form, chunk_tokens);
  const auto v = squared_relu(first.value);  // B,T,H
  const auto second =
      fast_linear({linear(v, point.W, point.b), v, gradients.v, gradients.dz2, base.W, base.b, steps.W, steps.b}, form,
                  chunk_tokens);
  fast.sums = {first.matrix_sum, first.bias_sum, second.matrix_sum, second.bias_sum, base.gain, base.shift};
  auto f = second.value;
  if (options.has_layer_norm) {
    const auto gain = running_sum(base.gain, gradients.dg), shift = running_sum(base.shift, gradients.ds);
    f = normalise(f, options.epsilon).normal * (beside_tokens(point.gain) - steps.gain * gain.before) +
        (beside_tokens(point.shift) - steps.shift * shift.before);
    fast.sums.gain = gain.end;
    fast.sums.shift = shift.end;
  }
  fast.y = finish(slow.h, f, options.is_residual);
  return fast;
}

WeightSet stepped(const WeightSet& slow_weights, const WeightSet& steps, const WeightSet& sums) {
  return map_weights(
      [](const at::Tensor& weight, const at::Tensor& step, const at::Tensor& sum) { return weight - step * sum; },
      slow_weights, steps, sums);
}

SlowPass narrow(const SlowPass& slow, int64_t start, int64_t count) {
  const auto take = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.narrow(1, start, count) : tensor;
  };
  return {take(slow.h), take(slow.z1), take(slow.v), take(slow.normal), take(slow.inverse), take(slow.y)};
}

InnerGradients narrow(const InnerGradients& gradients, int64_t start, int64_t count) {
  const auto take = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.narrow(1, start, count) : tensor;
  };
  return {take(gradients.h),   take(gradients.v),  take(gradients.dz1),
          take(gradients.dz2), take(gradients.dg), take(gradients.ds)};
}

}  // namespace fwl
