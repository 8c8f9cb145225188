#include "memory/activation.h"

#include "engine/pointwise.h"
#include "engine/products.h"
#include "engine/torch.h"

namespace fwl {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class SquaredRelu : public torch::autograd::Function<SquaredRelu> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& z) {
    context->save_for_backward({z});
    return squared_relu_values(z);
  }

  static variable_list backward(AutogradContext* context, variable_list upstreams) {
    return {twice_relu_times(context->get_saved_variables()[0], upstreams[0])};
  }
};

class InputGradient : public torch::autograd::Function<InputGradient> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& dz2, const at::Tensor& W,
                            const at::Tensor& z1) {
    context->save_for_backward({dz2, W, z1});
    return twice_relu_times(z1, product(dz2, W.transpose(-1, -2)));
  }

  static variable_list backward(AutogradContext* context, variable_list upstreams) {
    const auto saved = context->get_saved_variables();
    const auto &dz2 = saved[0], &W = saved[1], &z1 = saved[2], &upstream = upstreams[0];
    const auto grad_dv = twice_relu_times(z1, upstream);  // B,T,H
    const auto grad_dz2 = product(grad_dv, W);            // B,T,D
    const auto grad_W = W.dim() == 3 ? product(grad_dv.transpose(1, 2).contiguous(), dz2)
                                     : product(grad_dv.flatten(0, 1).t(), dz2.flatten(0, 1));
    const auto grad_z1 = product(dz2, W.transpose(-1, -2)).mul_(upstream).mul_(2).mul_(z1 > 0);
    return {grad_dz2, grad_W, grad_z1};
  }
};

class Normalise : public torch::autograd::Function<Normalise> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& z, double epsilon) {
    auto normal = z - z.mean(-1, true);
    const auto inverse = (normal.square().mean(-1, true) + epsilon).rsqrt();
    normal.mul_(inverse);
    context->save_for_backward({normal, inverse});
    return {normal, inverse};
  }

  // With upstream g on n and s on r: d(centred) = r g - r n (mean(g n) + r s / D), then centred itself.
  static variable_list backward(AutogradContext* context, variable_list upstreams) {
    const auto saved = context->get_saved_variables();
    const auto &normal = saved[0], &inverse = saved[1], &g = upstreams[0], &s = upstreams[1];
    const auto mean_product = (g * normal).mean(-1, true) + inverse * s / normal.size(-1);
    const auto grad_centred = (g - normal * mean_product).mul_(inverse);
    return {grad_centred - grad_centred.mean(-1, true), {}};
  }
};

}  // namespace

at::Tensor squared_relu(const at::Tensor& z) {
  return SquaredRelu::apply(z);
}

Normalised normalise(const at::Tensor& z, double epsilon) {
  const auto results = Normalise::apply(z, epsilon);
  return {results[0], results[1]};
}

at::Tensor input_gradient(const at::Tensor& dz2, const at::Tensor& W, const at::Tensor& z1) {
  return InputGradient::apply(dz2, W, z1);
}

}  // namespace fwl
