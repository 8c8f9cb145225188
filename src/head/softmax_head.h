// The full softmax: one weight row and optional bias per word, its own or tied to the input embedding.
#pragma once

#include "head/head.h"

namespace fwl {

class SoftmaxHead : public Head {
 public:
  using Head::loss;

  // weight: V,D (the same tensor as the embedding when tied)   bias: V or undefined
  SoftmaxHead(at::Tensor weight, at::Tensor bias, HeadOptions options = {});

  int64_t width() const override { return weight_.size(1); }
  int64_t vocabulary_size() const override { return weight_.size(0); }
  std::vector<at::Tensor> parameters() const override;

  at::Tensor loss(const at::Tensor& hidden, const at::Tensor& targets,
                  const at::Tensor& expected_upstream) const override;
  LossAndGradient loss_and_gradient(const at::Tensor& hidden, const at::Tensor& targets) const override;
  at::Tensor logits(const at::Tensor& hidden) const override;

  const at::Tensor& weight() const { return weight_; }
  const at::Tensor& bias() const { return bias_; }
  const HeadOptions& options() const { return options_; }

 private:
  at::Tensor weight_, bias_;
  HeadOptions options_;
};

}  // namespace fwl
