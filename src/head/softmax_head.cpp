#include "head/softmax_head.h"

#include <fmt/format.h>

#include "engine/torch.h"
#include "head/sliced_softmax.h"
#include "head/softmax_sweep.h"
#include "head/token_pass.h"
#include "support/error.h"

namespace fwl {

SoftmaxHead::SoftmaxHead(Matrix weight, at::Tensor bias, HeadOptions options)
    : weight_(std::move(weight)), bias_(std::move(bias)), options_(options) {
  if (!weight_.is_quantized() && weight_.dense().dim() != 2)
    fail("SoftmaxHead", "a weight V,D", c10::str(weight_.dense().sizes()));
  const bool fits = !bias_.defined() || (bias_.dim() == 1 && bias_.size(0) == weight_.rows());
  if (!fits) fail("SoftmaxHead", fmt::format("a bias of {}", weight_.rows()), c10::str(bias_.sizes()));
}

const at::Tensor& SoftmaxHead::weight() const {
  if (!weight_.is_quantized()) return weight_.dense();
  std::call_once(is_dequantized_, [this] { dense_weight_ = weight_.dequantized(); });
  return dense_weight_;
}

bool SoftmaxHead::is_sliced() const {
  const int64_t dense_bytes = weight_.rows() * weight_.columns() * static_cast<int64_t>(sizeof(float));
  const bool learns_bias = at::GradMode::is_enabled() && bias_.defined() && bias_.requires_grad();
  return weight_.is_quantized() && dense_bytes > options_.dense_bytes && !learns_bias;
}

std::vector<at::Tensor> SoftmaxHead::parameters() const {
  std::vector<at::Tensor> parameters;
  if (!weight_.is_quantized()) parameters.push_back(weight_.dense());
  if (bias_.defined()) parameters.push_back(bias_);
  return parameters;
}

double SoftmaxHead::products_per_token() const {
  return static_cast<double>(weight_.rows()) * static_cast<double>(weight_.columns());
}

void SoftmaxHead::for_each_cluster(const at::Tensor& targets, const ClusterVisit& visit) const {
  visit(0, {weight(), bias_, {}}, {}, targets);
}

std::shared_ptr<const Head> SoftmaxHead::with_bias_change(const std::vector<at::Tensor>& change) const {
  return std::make_shared<SoftmaxHead>(weight_, changed_bias(bias_, change[0]), options_);
}

at::Tensor SoftmaxHead::loss(const at::Tensor& hidden, const at::Tensor& targets,
                             const at::Tensor& expected_upstream) const {
  check_head_input("SoftmaxHead", *this, hidden, targets);
  if (is_sliced()) return sliced_softmax_loss(hidden, weight_, bias_, targets, options_);
  return softmax_loss(hidden, weight(), bias_, targets, expected_upstream, options_);
}

LossAndGradient SoftmaxHead::loss_and_gradient(const at::Tensor& hidden, const at::Tensor& targets) const {
  check_head_input("SoftmaxHead", *this, hidden, targets);
  if (is_sliced()) return sliced_softmax_loss_and_gradient(hidden, weight_, bias_, targets, options_);
  return softmax_loss_and_gradient(hidden, weight(), bias_, targets, options_);
}

TokenPass SoftmaxHead::token_pass(const at::Tensor& hidden, const at::Tensor& learning) const {
  const bool has_kernel = weight_.is_quantized() || (weight_.dense().is_cpu() && weight_.dense().is_contiguous() &&
                                                     weight_.dense().scalar_type() == at::kFloat);
  if (!has_kernel) return Head::token_pass(hidden, learning);
  return token_pass_over(weight_.stored_rows(), bias_, hidden, learning);
}

at::Tensor SoftmaxHead::output_row(int64_t token) const {
  return weight_.select_rows(at::full({1}, token, at::kLong));
}

at::Tensor SoftmaxHead::logits(const at::Tensor& hidden) const {
  return weight_.apply(hidden, bias_);
}

}  // namespace fwl
