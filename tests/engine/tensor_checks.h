// How far two tensors are apart, and thread counts and precisions that end with their block.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <functional>
#include <vector>

#include "engine/products.h"

namespace fwl {

inline at::Tensor wide(const at::Tensor& tensor) {
  return tensor.to(at::kDouble);
}

// The greatest difference, in units of the greatest expected number.
inline double relative_difference(const at::Tensor& actual, const at::Tensor& expected) {
  const double size = expected.abs().max().item<double>();
  return (wide(actual) - wide(expected)).abs().max().item<double>() / (size > 0 ? size : 1);
}

class Threads {
 public:
  explicit Threads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { at::set_num_threads(before_); }

 private:
  int before_;
};

using TensorFunction = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

struct ValueAndGradients {
  at::Tensor value;
  std::vector<at::Tensor> gradients;  // of <value, upstream>, one for each input
};

// The function and its gradients by autograd, at the inputs as numbers of `type`.
inline ValueAndGradients differentiate(const TensorFunction& function, const std::vector<at::Tensor>& inputs,
                                       const at::Tensor& upstream, at::ScalarType type) {
  std::vector<at::Tensor> leaves;
  for (const auto& input : inputs) leaves.push_back(input.detach().to(type, false, true).requires_grad_());
  const auto value = function(leaves);
  value.backward(upstream.to(type));
  ValueAndGradients out{value.detach(), {}};
  for (const auto& leaf : leaves) out.gradients.push_back(leaf.grad());
  return out;
}

// d <f(x + h direction), upstream> / dh by a central difference in double.
inline double numeric_slope(const TensorFunction& function, const std::vector<at::Tensor>& inputs,
                            const std::vector<at::Tensor>& directions, const at::Tensor& upstream) {
  const at::NoGradGuard no_grad;
  constexpr double step = 1e-5;
  const auto at_distance = [&](double distance) {
    std::vector<at::Tensor> moved;
    for (size_t index = 0; index < inputs.size(); ++index)
      moved.push_back(wide(inputs[index]) + distance * wide(directions[index]));
    return (function(moved) * wide(upstream)).sum().item<double>();
  };
  return (at_distance(step) - at_distance(-step)) / (2 * step);
}

// The same slope from gradients.
inline double slope(const std::vector<at::Tensor>& gradients, const std::vector<at::Tensor>& directions) {
  double sum = 0;
  for (size_t index = 0; index < gradients.size(); ++index)
    sum += (wide(gradients[index]) * wide(directions[index])).sum().item<double>();
  return sum;
}

}  // namespace fwl
