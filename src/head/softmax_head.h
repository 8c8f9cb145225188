// The full softmax: one weight row and optional bias per token of the vocabulary, optionally tied to the embedding.
#pragma once

#include <mutex>

#include "head/head.h"
#include "weights/matrix.h"

namespace fwl {

class SoftmaxHead : public Head {
 public:
  using Head::loss;

  // weight: V,D (the same as the embedding when tied)   bias: V or undefined
  SoftmaxHead(Matrix weight, at::Tensor bias, HeadOptions options = {});

  int64_t width() const override { return weight_.columns(); }
  int64_t vocabulary_size() const override { return weight_.rows(); }
  std::vector<at::Tensor> parameters() const override;
  double products_per_token() const override;

  at::Tensor loss(const at::Tensor& hidden, const at::Tensor& targets,
                  const at::Tensor& expected_upstream) const override;
  LossAndGradient loss_and_gradient(const at::Tensor& hidden, const at::Tensor& targets) const override;
  at::Tensor logits(const at::Tensor& hidden) const override;

  TokenPass token_pass(const at::Tensor& hidden, const at::Tensor& learning) const override;
  at::Tensor output_row(int64_t token) const override;

  // Logits of a few tokens use the quantised weight directly. Losses need it dense: all of it, or slice by slice.
  const at::Tensor& weight() const;
  void for_each_cluster(const at::Tensor& targets, const ClusterVisit& visit) const override;
  std::vector<int64_t> bias_sizes() const override { return {weight_.rows()}; }
  std::shared_ptr<const Head> with_bias_change(const std::vector<at::Tensor>& change) const override;
  const HeadOptions& options() const override { return options_; }

 private:
  bool is_sliced() const;

  Matrix weight_;
  at::Tensor bias_;
  mutable at::Tensor dense_weight_;
  mutable std::once_flag is_dequantized_;
  HeadOptions options_;
};

}  // namespace fwl
