#include "head/head_factory.h"

#include <fmt/format.h>

#include "engine/torch.h"
#include "head/adaptive_softmax_head.h"
#include "head/softmax_head.h"
#include "support/error.h"
#include "support/fields.h"

namespace fwl {

void add_fields(Fields& fields, const std::string& prefix, HeadOptions& options) {
  fields
      .add(prefix + "skip_probability_below", options.skip_probability_below,
           "learning skips blocks of the vocabulary in which every probability is lower; 0: exact")
      .range(0, 1);
  fields.add(prefix + "head_block_bytes", options.block_bytes, "memory for one block of logits").range(1, 1e12);
}

HeadFactory::HeadFactory(const VocabularyConfig& config, const EmbeddingTables& embedding, const HeadNames& names,
                         const Initial& initial, ParameterList& list)
    : config_(config), embedding_(embedding) {
  switch (config_.head) {
    case HeadKind::softmax:
      ask_for_softmax(names, initial, list);
      break;
    case HeadKind::adaptive_softmax:
      ask_for_adaptive_softmax(list);
      break;
  }
  kept_ = make();
}

std::shared_ptr<const Head> HeadFactory::make() const {
  return config_.head == HeadKind::adaptive_softmax ? make_adaptive_softmax() : make_softmax();
}

std::shared_ptr<const Head> HeadFactory::head() const {
  const bool has_slices = config_.head == HeadKind::adaptive_softmax;
  return has_slices && at::GradMode::is_enabled() ? make_adaptive_softmax() : kept_;
}

void HeadFactory::weights_moved() {
  if (config_.head == HeadKind::adaptive_softmax) kept_ = make_adaptive_softmax();
}

void HeadFactory::set_options(const HeadOptions& options) {
  options_ = options;
  kept_ = make();
}

void HeadFactory::ask_for_softmax(const HeadNames& names, const Initial& initial, ParameterList& list) {
  weights_.push_back(config_.is_tied ? Matrix()
                                     : list.head_matrix(names.weight, config_.size, config_.hidden_size, initial));
  biases_.push_back(names.bias.empty() ? at::Tensor()
                                       : list.head_tensor(names.bias, {config_.size}, Initial::constant(0)));
}

std::shared_ptr<const Head> HeadFactory::make_softmax() const {
  return std::make_shared<SoftmaxHead>(config_.is_tied ? embedding_.tables[0] : weights_[0], biases_[0], options_);
}

// With divisor 1 there is one table for all clusters, and a projection only where the sizes differ.
void HeadFactory::ask_for_adaptive_softmax(ParameterList& list) {
  const auto zero = Initial::constant(0);
  const int64_t clusters = config_.clusters();
  const bool has_one_table = config_.divisor == 1;
  if (clusters > 1) {
    tail_weight_ = list.head_tensor("crit.cluster_weight", {clusters - 1, config_.embedding_size}, zero);
    tail_bias_ = list.head_tensor("crit.cluster_bias", {clusters - 1}, zero);
  }
  for (int64_t cluster = 0; cluster < clusters; ++cluster) {
    const int64_t d = config_.cluster_size(cluster), tokens = has_one_table ? config_.size : config_.tokens(cluster);
    if (!has_one_table || cluster == 0) {
      const auto name = fmt::format("crit.out_layers.{}", cluster);
      weights_.push_back(config_.is_tied ? at::Tensor()
                                         : list.head_tensor(name + ".weight", {tokens, d}, Initial::fan_in(d)));
      biases_.push_back(list.head_tensor(name + ".bias", {tokens}, zero));
    }
    const bool has_own = !config_.has_tied_projection(cluster) && !(has_one_table && d == config_.hidden_size);
    projections_.push_back(has_own ? list.head_tensor(fmt::format("crit.out_projs.{}", cluster),
                                                      {config_.hidden_size, d}, Initial::fan_in(config_.hidden_size))
                                   : at::Tensor());
  }
}

at::Tensor HeadFactory::cluster_weight(int64_t cluster) const {
  const auto table = static_cast<size_t>(config_.divisor == 1 ? 0 : cluster);
  const auto& whole = (config_.is_tied ? embedding_.tables[table] : weights_[table]).dense();
  return config_.divisor == 1 ? whole.narrow(0, config_.first_token(cluster), config_.tokens(cluster)) : whole;
}

at::Tensor HeadFactory::cluster_projection(int64_t cluster) const {
  const auto& own = projections_[static_cast<size_t>(cluster)];
  if (own.defined() || !config_.has_tied_projection(cluster)) return own;
  return embedding_.projections[static_cast<size_t>(config_.divisor == 1 ? 0 : cluster)];
}

std::shared_ptr<const Head> HeadFactory::make_adaptive_softmax() const {
  std::vector<SoftmaxCluster> clusters;
  for (int64_t cluster = 0; cluster < config_.clusters(); ++cluster) {
    const auto bias = config_.divisor == 1 ? biases_[0].narrow(0, config_.first_token(cluster), config_.tokens(cluster))
                                           : biases_[static_cast<size_t>(cluster)];
    clusters.push_back({cluster_weight(cluster), bias, cluster_projection(cluster)});
  }
  return std::make_shared<AdaptiveSoftmaxHead>(clusters, tail_weight_, tail_bias_, options_);
}

}  // namespace fwl
