#include "memory/passes.h"

#include "engine/products.h"
#include "engine/torch.h"
#include "memory/activation.h"
#include "memory/update_rule.h"

namespace fwl {
namespace {

// A vector weight beside B,T,N values: shared (N), or one per sequence (B,N).
at::Tensor beside_tokens(const at::Tensor& vector) {
  return vector.dim() == 2 ? vector.unsqueeze(1) : vector;
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& matrix, const at::Tensor& bias) {
  return product(x, matrix) + beside_tokens(bias);
}

FastLinearOutput fast_linear(const FastLinearInput& input, Form form, int64_t chunk_tokens) {
  return form == Form::quadratic ? fast_linear_quadratic(input) : fast_linear_chunked(input, chunk_tokens);
}

at::Tensor some_tokens(const at::Tensor& tensor, int64_t start, int64_t count) {
  return tensor.defined() ? tensor.narrow(1, start, count) : tensor;
}

}  // namespace

LayerForward layer_forward(const at::Tensor& h, const LayerMaps& maps, const LayerOptions& options) {
  LayerForward forward;
  forward.h = h;
  forward.z1 = maps.first(h);            // B,T,H
  forward.v = squared_relu(forward.z1);  // B,T,H
  auto f = maps.second(forward.v);       // B,T,D
  if (options.has_layer_norm) {
    const auto [normal, inverse] = normalise(f, options.epsilon);
    forward.normal = normal;
    forward.inverse = inverse;
    f = maps.affine(normal);
  }
  forward.y = options.is_residual ? h + f : f;
  return forward;
}

LayerForward layer_forward(const at::Tensor& h, const WeightSet& weights, const LayerOptions& options) {
  const LayerMaps maps = {
      [&](const at::Tensor& x) { return linear(x, weights.U, weights.a); },
      [&](const at::Tensor& v) { return linear(v, weights.W, weights.b); },
      [&](const at::Tensor& n) { return n * beside_tokens(weights.gain) + beside_tokens(weights.shift); }};
  return layer_forward(h, maps, options);
}

InnerGradients inner_gradients(const LayerForward& at, const at::Tensor& dy, const WeightSet& weights,
                               const LayerOptions& options) {
  InnerGradients gradients;
  gradients.h = at.h;
  gradients.v = at.v;
  gradients.dz2 = dy;
  if (options.has_layer_norm) {
    gradients.dg = dy * at.normal;
    gradients.ds = dy;
    const auto dn = dy * beside_tokens(weights.gain);
    gradients.dz2 = at.inverse * (dn - dn.mean(-1, true) - at.normal * (dn * at.normal).mean(-1, true));
  }
  gradients.dz1 = input_gradient(gradients.dz2, weights.W, at.z1);  // B,T,H
  if (!options.is_first_order) return gradients;
  for (auto* tensor : {&gradients.h, &gradients.v, &gradients.dz1, &gradients.dz2, &gradients.dg, &gradients.ds})
    if (tensor->defined()) *tensor = tensor->detach();
  return gradients;
}

void apply_rule(InnerGradients& gradients, const UpdateRule& rule, const at::Tensor& factor) {
  // a and b are vectors, but move with dz1 and dz2 as U and W do: one sum of gradients serves both.
  gradients.dz1 = rule.token_update(gradients.h, gradients.dz1);
  gradients.dz2 = rule.token_update(gradients.v, gradients.dz2);
  if (gradients.dg.defined()) gradients.dg = rule.token_update({}, gradients.dg);
  if (gradients.ds.defined()) gradients.ds = rule.token_update({}, gradients.ds);
  if (!factor.defined()) return;
  for (auto* tensor : {&gradients.dz1, &gradients.dz2, &gradients.dg, &gradients.ds})
    if (tensor->defined()) *tensor = *tensor * factor;
}

FastPass fast_pass(const at::Tensor& h, const at::Tensor& z1, const InnerGradients& gradients, const WeightSet& weights,
                   const WeightSet& open, const WeightSet& steps, const LayerOptions& options, Form form,
                   int64_t chunk_tokens) {
  FastPass fast;
  const auto first = [&](const at::Tensor& x) {
    const auto result = fast_linear({z1.defined() ? z1 : linear(x, weights.U, weights.a), x, gradients.h, gradients.dz1,
                                     open.U, open.a, steps.U, steps.a},
                                    form, chunk_tokens);
    fast.sums.U = result.matrix_sum;
    fast.sums.a = result.bias_sum;
    return result.value;
  };
  const auto second = [&](const at::Tensor& v) {
    const auto result =
        fast_linear({linear(v, weights.W, weights.b), v, gradients.v, gradients.dz2, open.W, open.b, steps.W, steps.b},
                    form, chunk_tokens);
    fast.sums.W = result.matrix_sum;
    fast.sums.b = result.bias_sum;
    return result.value;
  };
  const auto affine = [&](const at::Tensor& n) {
    const auto gain = running_sum(open.gain, gradients.dg), shift = running_sum(open.shift, gradients.ds);
    fast.sums.gain = gain.end;
    fast.sums.shift = shift.end;
    return n * (beside_tokens(weights.gain) - steps.gain * gain.before) +
           (beside_tokens(weights.shift) - steps.shift * shift.before);
  };
  fast.sums.gain = open.gain;
  fast.sums.shift = open.shift;
  fast.y = layer_forward(h, {first, second, affine}, options).y;
  return fast;
}

WeightSet updated_weights(const WeightSet& weights, const WeightSet& steps, const WeightSet& sums) {
  return map_weights(
      [](const at::Tensor& weight, const at::Tensor& step, const at::Tensor& sum) { return weight - step * sum; },
      weights, steps, sums);
}

LayerForward narrow(const LayerForward& forward, int64_t start, int64_t count) {
  const auto some = [&](const at::Tensor& tensor) { return some_tokens(tensor, start, count); };
  return {some(forward.h),      some(forward.z1),      some(forward.v),
          some(forward.normal), some(forward.inverse), some(forward.y)};
}

InnerGradients narrow(const InnerGradients& gradients, int64_t start, int64_t count) {
  const auto some = [&](const at::Tensor& tensor) { return some_tokens(tensor, start, count); };
  return {some(gradients.h),   some(gradients.v),  some(gradients.dz1),
          some(gradients.dz2), some(gradients.dg), some(gradients.ds)};
}

}  // namespace fwl
