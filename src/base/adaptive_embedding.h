// Transformer-XL's adaptive embedding: narrower vectors for rarer words, projected to the model's width. The adaptive
// softmax uses the same tables when it is tied.
#pragma once

#include "head/adaptive_softmax_head.h"
#include "weights/parameter_list.h"

namespace fwl {

struct AdaptiveConfig {
  int64_t vocabulary_size = 0, width = 0, embedding_width = 0;
  std::vector<int64_t> cutoffs;  // where clusters end, but for the last one
  int64_t divisor = 1;           // each cluster's vectors are so many times narrower than those of the one before
  bool is_tied = true;
  std::vector<bool> tied_projections;  // per cluster; missing ones are not tied

  int64_t clusters() const { return static_cast<int64_t>(cutoffs.size()) + 1; }
  int64_t first_word(int64_t cluster) const;  // and the vocabulary's size for cluster == clusters()
  int64_t words(int64_t cluster) const { return first_word(cluster + 1) - first_word(cluster); }
  int64_t cluster_width(int64_t cluster) const;
  bool has_tied_projection(int64_t cluster) const;
  void check(const std::string& where) const;
};

// With divisor 1 there is one table for all clusters, and a projection only where the widths differ.
class AdaptiveEmbedding {
 public:
  AdaptiveEmbedding() = default;
  AdaptiveEmbedding(const AdaptiveConfig& config, ParameterList& list);

  at::Tensor operator()(const at::Tensor& tokens) const;  // N -> N,D

  const at::Tensor& table(int64_t index) const { return tables_[static_cast<size_t>(index)]; }
  const at::Tensor& projection(int64_t index) const { return projections_[static_cast<size_t>(index)]; }  // D,d

 private:
  AdaptiveConfig config_;
  std::vector<at::Tensor> tables_, projections_;  // projections may be undefined
};

// The tensors of the softmax that are not the embedding's.
class AdaptiveOutput {
 public:
  AdaptiveOutput() = default;
  AdaptiveOutput(const AdaptiveConfig& config, ParameterList& list);

  std::shared_ptr<const Head> head(const AdaptiveEmbedding& embedding) const;

 private:
  at::Tensor weight(int64_t cluster, const AdaptiveEmbedding& embedding) const;
  at::Tensor projection(int64_t cluster, const AdaptiveEmbedding& embedding) const;

  AdaptiveConfig config_;
  at::Tensor cluster_weight_, cluster_bias_;
  std::vector<at::Tensor> weights_, biases_, projections_;
};

}  // namespace fwl
