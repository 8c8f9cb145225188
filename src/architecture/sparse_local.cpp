#include "base/sparse_local.h"

#include "architecture/architecture.h"
#include "architecture/shared_fields.h"

namespace fwl {
namespace {

void add_sparse_local_fields(Fields& fields, SparseLocalConfig& config) {
  add_layers(fields, config.layers);
  add_hidden_size(fields, config.hidden_size);
  add_heads(fields, config.heads);
  add_ffn_size(fields, config.ffn_size);
  add_dropout(fields, config.dropout);
  add_tied(fields, config.vocabulary.is_tied);
  fields.add("model.block_tokens", config.block_tokens, "positions see their block and the one before")
      .range(1, 1 << 20);
  add_clusters(fields, config.vocabulary);
}

std::shared_ptr<BaseModel> make_sparse_local(SparseLocalConfig config, int64_t vocabulary_size, WeightSource& source) {
  config.vocabulary.size = vocabulary_size;
  tie_projections(config.vocabulary);
  return std::make_shared<SparseLocal>(config, source);
}

}  // namespace

Architecture sparse_local_architecture() {
  return {.name = "sparse-local",
          .new_settings = settings_of<SparseLocalConfig, add_sparse_local_fields, make_sparse_local>};
}

}  // namespace fwl
