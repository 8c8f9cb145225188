#include "base/adaptive_embedding.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/products.h"
#include "engine/torch.h"

namespace fwl {

AdaptiveEmbedding::AdaptiveEmbedding(const VocabularyConfig& config, ParameterList& list) : config_(config) {
  const auto projected = Initial::fan_in(config.hidden_size);  // the softmax uses the transpose, of fan-in hidden_size
  const auto add = [&](int64_t index, int64_t tokens, int64_t d, bool is_projected, double share) {
    const auto table = fmt::format("transformer.word_emb.emb_layers.{}.weight", index);
    const auto projection = fmt::format("transformer.word_emb.emb_projs.{}", index);
    tables_.tables.emplace_back(list.dense_table(table, tokens, d, Initial::fan_in(d)));
    tables_.projections.push_back(is_projected ? list.dense_matrix(projection, config.hidden_size, d, projected, share)
                                               : at::Tensor());
  };
  if (config.divisor == 1) {
    add(0, config.size, config.embedding_size, config.embedding_size != config.hidden_size, 1);
    return;
  }
  for (int64_t cluster = 0; cluster < config.clusters(); ++cluster)
    add(cluster, config.tokens(cluster), config.cluster_size(cluster), true, config.share(cluster));
}

at::Tensor AdaptiveEmbedding::operator()(const at::Tensor& tokens) const {
  const auto project = [&](const at::Tensor& vectors, size_t index) {
    const auto& projection = tables_.projections[index];
    return projection.defined() ? product(vectors, projection.t()) : vectors;
  };
  const double scale = std::sqrt(static_cast<double>(config_.hidden_size));
  if (config_.divisor == 1) return project(tables_.tables[0].select_rows(tokens), 0) * scale;
  auto out = at::zeros({tokens.size(0), config_.hidden_size}, tables_.tables[0].dense().options().requires_grad(false));
  for (int64_t cluster = 0; cluster < config_.clusters(); ++cluster) {
    const int64_t first = config_.first_token(cluster), past = config_.first_token(cluster + 1);
    const auto rows = at::nonzero(tokens.ge(first).logical_and_(tokens.lt(past))).squeeze(1);
    if (rows.size(0) == 0) continue;
    const auto index = static_cast<size_t>(cluster);
    const auto vectors = tables_.tables[index].select_rows(tokens.index_select(0, rows) - first);
    out = out.index_copy(0, rows, project(vectors, index));
  }
  return out * scale;
}

}  // namespace fwl
