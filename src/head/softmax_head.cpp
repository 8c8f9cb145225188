#include "head/softmax_head.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "engine/products.h"
#include "head/softmax_sweep.h"
#include "support/error.h"

namespace fwl {

SoftmaxHead::SoftmaxHead(at::Tensor weight, at::Tensor bias, HeadOptions options)
    : weight_(std::move(weight)), bias_(std::move(bias)), options_(options) {
  if (weight_.dim() != 2) fail("SoftmaxHead", "a weight V,D", c10::str(weight_.sizes()));
  const bool fits = !bias_.defined() || (bias_.dim() == 1 && bias_.size(0) == weight_.size(0));
  if (!fits) fail("SoftmaxHead", fmt::format("a bias of {}", weight_.size(0)), c10::str(bias_.sizes()));
}

std::vector<at::Tensor> SoftmaxHead::parameters() const {
  return bias_.defined() ? std::vector<at::Tensor>{weight_, bias_} : std::vector<at::Tensor>{weight_};
}

at::Tensor SoftmaxHead::loss(const at::Tensor& hidden, const at::Tensor& targets,
                             const at::Tensor& expected_upstream) const {
  check_head_input("SoftmaxHead", *this, hidden, targets);
  return softmax_loss(hidden, weight_, bias_, targets, expected_upstream, options_);
}

LossAndGradient SoftmaxHead::loss_and_gradient(const at::Tensor& hidden, const at::Tensor& targets) const {
  check_head_input("SoftmaxHead", *this, hidden, targets);
  return softmax_loss_and_gradient(hidden, weight_, bias_, targets, options_);
}

at::Tensor SoftmaxHead::logits(const at::Tensor& hidden) const {
  const auto scores = product(hidden, weight_.t());
  return bias_.defined() ? scores + bias_ : scores;
}

}  // namespace fwl
