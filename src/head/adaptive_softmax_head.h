// The adaptive softmax: frequent words in the head cluster, rarer ones in narrower tail clusters (Transformer-XL's
// form).
#pragma once

#include <ATen/ATen.h>

#include <mutex>

#include "head/head.h"

namespace fwl {

class AdaptiveSoftmaxHead : public Head {
 public:
  using Head::loss;

  // `clusters` in order of frequency; cluster 0 is the head. The head also holds one entry per tail cluster:
  // tail cluster k (k >= 1) is column words(0) + k - 1.
  // cluster_weight: tails, d of cluster 0   cluster_bias: tails, or undefined
  AdaptiveSoftmaxHead(std::vector<SoftmaxCluster> clusters, at::Tensor cluster_weight, at::Tensor cluster_bias,
                      HeadOptions options = {});

  int64_t width() const override;
  int64_t vocabulary_size() const override { return first_word_.back(); }
  std::vector<at::Tensor> parameters() const override;
  double products_per_token() const override;

  at::Tensor loss(const at::Tensor& hidden, const at::Tensor& targets,
                  const at::Tensor& expected_upstream) const override;
  LossAndGradient loss_and_gradient(const at::Tensor& hidden, const at::Tensor& targets) const override;
  at::Tensor logits(const at::Tensor& hidden) const override;  // log-probabilities

  // Cluster 0 comes with the tail entries joined to its weight and bias.
  void for_each_cluster(const at::Tensor& targets, const ClusterVisit& visit) const override;
  std::vector<int64_t> bias_sizes() const override;
  std::shared_ptr<const Head> with_bias_change(const std::vector<at::Tensor>& change) const override;
  const HeadOptions& options() const override { return options_; }

 private:
  int64_t tail_count() const { return static_cast<int64_t>(clusters_.size()) - 1; }
  SoftmaxCluster joined_head() const;
  at::Tensor head_targets(const at::Tensor& targets) const;
  SoftmaxCluster join_head() const;
  std::vector<int64_t> head_versions() const;  // change whenever the head cluster's numbers do

  std::vector<SoftmaxCluster> clusters_;
  at::Tensor cluster_weight_, cluster_bias_;
  std::vector<int64_t> first_word_;  // of each cluster, and V at the end
  HeadOptions options_;
  // Without gradients the joined head is kept until a number of it changes: joining copies the whole matrix.
  mutable std::mutex joined_lock_;
  mutable SoftmaxCluster joined_;
  mutable std::vector<int64_t> joined_versions_;
};

}  // namespace fwl
