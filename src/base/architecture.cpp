#include "base/architecture.h"

#include <fmt/format.h>

#include "base/sparse_local.h"
#include "base/transformer_xl.h"
#include "support/error.h"
#include "support/fields.h"

namespace fwl {
namespace {

AdaptiveConfig words(const ArchitectureConfig& config) {
  AdaptiveConfig words;
  words.vocabulary_size = config.vocabulary_size;
  words.width = config.width;
  words.embedding_width = config.embedding_width > 0 ? config.embedding_width : config.width;
  words.cutoffs = config.cutoffs;
  words.divisor = config.divisor;
  words.is_tied = config.is_tied;
  words.tied_projections.assign(config.cutoffs.size() + 1, config.is_tied);
  words.tied_projections.front() = false;
  return words;
}

SparseLocalConfig sparse_local_config(const ArchitectureConfig& config) {
  SparseLocalConfig sparse;
  sparse.vocabulary_size = config.vocabulary_size;
  sparse.layers = config.layers;
  sparse.width = config.width;
  sparse.heads = config.heads;
  sparse.inner_width = config.inner_width;
  sparse.block_tokens = config.block_tokens;
  sparse.dropout = config.dropout;
  sparse.is_tied = config.is_tied;
  if (!config.cutoffs.empty()) sparse.words = words(config);
  return sparse;
}

TransformerXlConfig transformer_xl_config(const ArchitectureConfig& config) {
  if (config.width % config.heads != 0)
    fail("transformer-xl model", "heads of equal width", fmt::format("width {}, {} heads", config.width, config.heads));
  if (config.is_same_length && config.memory_tokens < 1)
    fail("model.memory_tokens", "at least 1 with is_same_length", std::to_string(config.memory_tokens));
  TransformerXlConfig xl;
  xl.words = words(config);
  xl.layers = config.layers;
  xl.heads = config.heads;
  xl.head_width = config.width / config.heads;
  xl.inner_width = config.inner_width;
  xl.memory_tokens = config.memory_tokens;
  xl.clamp_tokens = config.clamp_tokens;
  xl.is_same_length = config.is_same_length;
  xl.is_pre_norm = config.is_pre_norm;
  xl.dropout = config.dropout;
  xl.attention_dropout = config.attention_dropout;
  return xl;
}

}  // namespace

void add_fields(Fields& fields, ArchitectureConfig& config) {
  fields.add("model.architecture", config.name, "what kind of model").choices({"sparse-local", "transformer-xl"});
  fields.add("model.layers", config.layers, "transformer layers").range(1, 1000);
  fields.add("model.width", config.width, "width of the hidden states").range(2, 65536);
  fields.add("model.heads", config.heads, "attention heads").range(1, 1024);
  fields.add("model.inner_width", config.inner_width, "width between the two maps of a layer").range(1, 1 << 20);
  fields.add("model.dropout", config.dropout, "share of activations dropped in training").range(0, 0.99);
  fields.add("model.is_tied", config.is_tied, "the head's weight is the embedding");
  fields.add("model.block_tokens", config.block_tokens, "sparse-local: positions see their block and the one before")
      .range(1, 1 << 20);
  fields.add("model.memory_tokens", config.memory_tokens, "transformer-xl: past positions that stay visible")
      .range(0, 1 << 20);
  fields.add("model.clamp_tokens", config.clamp_tokens, "transformer-xl: distances beyond it look alike; 0: none")
      .range(0, 1 << 20);
  fields.add("model.is_same_length", config.is_same_length,
             "transformer-xl: each position sees memory_tokens keys, not also the rest of the memory");
  fields.add("model.is_pre_norm", config.is_pre_norm, "transformer-xl: LayerNorm before each part, not after it");
  fields.add("model.attention_dropout", config.attention_dropout, "transformer-xl: share of attention dropped")
      .range(0, 0.99);
  fields
      .add("model.embedding_width", config.embedding_width,
           "of the most frequent words, with cutoffs or transformer-xl; 0: width")
      .range(0, 65536);
  fields.add("model.cutoffs", config.cutoffs, "where clusters of the adaptive softmax end; none: one softmax");
  fields.add("model.divisor", config.divisor, "with cutoffs: how much narrower each cluster's vectors are")
      .range(1, 64);
}

std::shared_ptr<BaseModel> make_base(const ArchitectureConfig& config, WeightSource& source) {
  if (config.name == "sparse-local") return std::make_shared<SparseLocal>(sparse_local_config(config), source);
  return std::make_shared<TransformerXl>(transformer_xl_config(config), source);
}

}  // namespace fwl
