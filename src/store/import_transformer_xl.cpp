#include "store/import_transformer_xl.h"

#include <nlohmann/json.hpp>

#include "store/model_config.h"
#include "store/published_weights.h"
#include "support/error.h"
#include "tokenizer/json_field.h"

namespace fwl {
namespace {

const nlohmann::json& list_of(const ModelConfig& json, const char* name) {
  const auto& list = json_or_null(json.json(), name);
  if (!list.is_null() && !list.is_array()) fail(json.where() + ": " + name, "a list", json_number_or_kind(list));
  return list;
}

std::vector<int64_t> cutoffs(const ModelConfig& json) {
  std::vector<int64_t> result;
  for (const auto& entry : list_of(json, "cutoffs")) {
    if (!entry.is_number_integer()) fail(json.where() + ": cutoffs", "whole numbers", json_number_or_kind(entry));
    result.push_back(entry.get<int64_t>());
  }
  return result;
}

std::vector<bool> tied_projections(const ModelConfig& json) {
  std::vector<bool> result;
  for (const auto& entry : list_of(json, "tie_projs")) {
    if (!entry.is_boolean()) fail(json.where() + ": tie_projs", "true or false", json_number_or_kind(entry));
    result.push_back(entry.get<bool>());
  }
  return result;
}

}  // namespace

std::shared_ptr<TransformerXl> import_transformer_xl(const std::shared_ptr<const HuggingFaceFolder>& folder) {
  const ModelConfig json(*folder);
  TransformerXlConfig config;
  config.words.vocabulary_size = json.count("vocab_size");
  config.words.width = json.count("d_model");
  config.words.embedding_width = json.count("d_embed", config.words.width);
  config.words.cutoffs = cutoffs(json);
  config.words.divisor = json.count("div_val", 1);
  config.words.is_tied = json.flag("tie_word_embeddings", json.flag("tie_weight", true));
  config.words.tied_projections = tied_projections(json);
  config.layers = json.count("n_layer");
  config.heads = json.count("n_head");
  config.head_width = json.count("d_head");
  config.inner_width = json.count("d_inner");
  config.memory_tokens = json.count_or_none("mem_len");
  config.clamp_tokens = json.count_or_none("clamp_len");
  config.is_same_length = json.flag("same_length", true);
  config.is_pre_norm = json.flag("pre_lnorm", false);
  config.has_biases_per_layer = json.flag("untie_r", true);
  config.norm_epsilon = json.number("layer_norm_epsilon", 1e-5);
  config.dropout = json.number("dropout", 0.1);
  config.attention_dropout = json.number("dropatt", 0.0);
  if (json.number("attn_type", 0.0) != 0) fail(json.where() + ": attn_type", "0", "another", "only the relative one");
  config.words.check(json.where());
  FolderWeights weights(folder, WeightFormat::fp32);
  return std::make_shared<TransformerXl>(config, weights);
}

}  // namespace fwl
