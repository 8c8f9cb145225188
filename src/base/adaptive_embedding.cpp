#include "base/adaptive_embedding.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/products.h"
#include "engine/torch.h"
#include "support/error.h"

namespace fwl {

int64_t AdaptiveConfig::first_word(int64_t cluster) const {
  if (cluster == 0) return 0;
  return cluster == clusters() ? vocabulary_size : cutoffs[static_cast<size_t>(cluster - 1)];
}

int64_t AdaptiveConfig::cluster_width(int64_t cluster) const {
  int64_t result = embedding_width;
  for (int64_t index = 0; index < cluster; ++index) result /= divisor;
  return result;
}

bool AdaptiveConfig::has_tied_projection(int64_t cluster) const {
  return cluster < static_cast<int64_t>(tied_projections.size()) && tied_projections[static_cast<size_t>(cluster)];
}

void AdaptiveConfig::check(const std::string& where) const {
  for (int64_t cluster = 0; cluster < clusters(); ++cluster) {
    if (words(cluster) < 1)
      fail(where + ": cutoffs", "rising numbers below the size of the vocabulary",
           fmt::format("{} for {} words", c10::str(at::IntArrayRef(cutoffs)), vocabulary_size));
    if (cluster_width(cluster) < 1)
      fail(where + ": div_val", "at least one number per word in every cluster",
           fmt::format("{} with {} clusters", divisor, clusters()));
  }
}

AdaptiveEmbedding::AdaptiveEmbedding(const AdaptiveConfig& config, ParameterList& list) : config_(config) {
  const auto table_name = [](int64_t index) { return fmt::format("transformer.word_emb.emb_layers.{}.weight", index); };
  const auto projection_name = [](int64_t index) { return fmt::format("transformer.word_emb.emb_projs.{}", index); };
  const auto projected = Initial::fan_in(config.width);  // as what comes back through it for the softmax
  if (config.divisor == 1) {
    tables_ = {list.tensor(table_name(0), {config.vocabulary_size, config.embedding_width},
                           Initial::fan_in(config.embedding_width))};
    projections_ = {config.embedding_width == config.width
                        ? at::Tensor()
                        : list.tensor(projection_name(0), {config.width, config.embedding_width}, projected)};
    return;
  }
  for (int64_t cluster = 0; cluster < config.clusters(); ++cluster) {
    const int64_t width = config.cluster_width(cluster);
    tables_.push_back(list.tensor(table_name(cluster), {config.words(cluster), width}, Initial::fan_in(width)));
    projections_.push_back(list.tensor(projection_name(cluster), {config.width, width}, projected));
  }
}

at::Tensor AdaptiveEmbedding::operator()(const at::Tensor& tokens) const {
  const auto project = [&](const at::Tensor& vectors, size_t index) {
    return projections_[index].defined() ? product(vectors, projections_[index].t()) : vectors;
  };
  const double scale = std::sqrt(static_cast<double>(config_.width));
  if (config_.divisor == 1) return project(at::embedding(tables_[0], tokens), 0) * scale;
  auto out = at::zeros({tokens.size(0), config_.width}, tables_[0].options().requires_grad(false));
  for (int64_t cluster = 0; cluster < config_.clusters(); ++cluster) {
    const int64_t first = config_.first_word(cluster), past = config_.first_word(cluster + 1);
    const auto rows = at::nonzero(tokens.ge(first).logical_and_(tokens.lt(past))).squeeze(1);
    if (rows.size(0) == 0) continue;
    const auto index = static_cast<size_t>(cluster);
    out = out.index_copy(0, rows, project(at::embedding(tables_[index], tokens.index_select(0, rows) - first), index));
  }
  return out * scale;
}

AdaptiveOutput::AdaptiveOutput(const AdaptiveConfig& config, ParameterList& list) : config_(config) {
  const auto zero = Initial::constant(0);
  const int64_t clusters = config.clusters();
  if (clusters > 1) {
    cluster_weight_ = list.tensor("crit.cluster_weight", {clusters - 1, config.embedding_width}, zero);
    cluster_bias_ = list.tensor("crit.cluster_bias", {clusters - 1}, zero);
  }
  for (int64_t cluster = 0; cluster < clusters; ++cluster) {
    const bool is_one_table = config.divisor == 1;
    const int64_t width = config.cluster_width(cluster),
                  words = is_one_table ? config.vocabulary_size : config.words(cluster);
    if (!is_one_table || cluster == 0) {
      const auto name = fmt::format("crit.out_layers.{}", cluster);
      weights_.push_back(config.is_tied ? at::Tensor()
                                        : list.tensor(name + ".weight", {words, width}, Initial::fan_in(width)));
      biases_.push_back(list.tensor(name + ".bias", {words}, zero));
    }
    const bool has_own = !config.has_tied_projection(cluster) && !(is_one_table && width == config.width);
    projections_.push_back(has_own ? list.tensor(fmt::format("crit.out_projs.{}", cluster), {config.width, width},
                                                 Initial::fan_in(config.width))
                                   : at::Tensor());
  }
}

at::Tensor AdaptiveOutput::weight(int64_t cluster, const AdaptiveEmbedding& embedding) const {
  const int64_t table = config_.divisor == 1 ? 0 : cluster;
  const auto& whole = config_.is_tied ? embedding.table(table) : weights_[static_cast<size_t>(table)];
  return config_.divisor == 1 ? whole.narrow(0, config_.first_word(cluster), config_.words(cluster)) : whole;
}

at::Tensor AdaptiveOutput::projection(int64_t cluster, const AdaptiveEmbedding& embedding) const {
  const auto& own = projections_[static_cast<size_t>(cluster)];
  if (own.defined() || !config_.has_tied_projection(cluster)) return own;
  return embedding.projection(config_.divisor == 1 ? 0 : cluster);
}

// Made anew for each use: slices of a table belong to the graph in which they are used.
std::shared_ptr<const Head> AdaptiveOutput::head(const AdaptiveEmbedding& embedding) const {
  std::vector<SoftmaxCluster> clusters;
  for (int64_t cluster = 0; cluster < config_.clusters(); ++cluster) {
    const auto bias = config_.divisor == 1 ? biases_[0].narrow(0, config_.first_word(cluster), config_.words(cluster))
                                           : biases_[static_cast<size_t>(cluster)];
    clusters.push_back({weight(cluster, embedding), bias, projection(cluster, embedding)});
  }
  return std::make_shared<AdaptiveSoftmaxHead>(clusters, cluster_weight_, cluster_bias_);
}

}  // namespace fwl
