#include "base/transformer_xl.h"

#include <nlohmann/json.hpp>

#include "architecture/architecture.h"
#include "architecture/folder_config.h"
#include "architecture/shared_fields.h"
#include "support/error.h"
#include "tokenizer/json_field.h"

namespace fwl {
namespace {

const nlohmann::json& list_of(const FolderConfig& json, const char* name) {
  const auto& list = json_or_null(json.json(), name);
  if (!list.is_null() && !list.is_array()) fail(json.where() + ": " + name, "a list", json_number_or_kind(list));
  return list;
}

std::vector<int64_t> cutoffs(const FolderConfig& json) {
  std::vector<int64_t> result;
  for (const auto& entry : list_of(json, "cutoffs")) {
    if (!entry.is_number_integer()) fail(json.where() + ": cutoffs", "whole numbers", json_number_or_kind(entry));
    result.push_back(entry.get<int64_t>());
  }
  return result;
}

std::vector<bool> tied_projections(const FolderConfig& json) {
  std::vector<bool> result;
  for (const auto& entry : list_of(json, "tie_projs")) {
    if (!entry.is_boolean()) fail(json.where() + ": tie_projs", "true or false", json_number_or_kind(entry));
    result.push_back(entry.get<bool>());
  }
  return result;
}

std::shared_ptr<BaseModel> open_transformer_xl(const Architecture::FolderPointer& folder, WeightFormat) {
  const FolderConfig json(*folder);
  TransformerXlConfig config;
  config.vocabulary.size = json.count("vocab_size");
  config.vocabulary.hidden_size = json.count("d_model");
  config.vocabulary.embedding_size = json.count("d_embed", config.vocabulary.hidden_size);
  config.vocabulary.cutoffs = cutoffs(json);
  config.vocabulary.divisor = json.count("div_val", 1);
  config.vocabulary.is_tied = json.flag("tie_word_embeddings", json.flag("tie_weight", true));
  config.vocabulary.tied_projections = tied_projections(json);
  config.layers = json.count("n_layer");
  config.heads = json.count("n_head");
  config.head_size = json.count("d_head");
  config.ffn_size = json.count("d_inner");
  config.memory_tokens = json.count_or_none("mem_len");
  config.clamp_tokens = json.count_or_none("clamp_len");
  config.is_same_length = json.flag("same_length", true);
  config.is_pre_norm = json.flag("pre_lnorm", false);
  config.has_biases_per_layer = json.flag("untie_r", true);
  config.norm_epsilon = json.number("layer_norm_epsilon", 1e-5);
  config.dropout = json.number("dropout", 0.1);
  config.attention_dropout = json.number("dropatt", 0.0);
  if (json.number("attn_type", 0.0) != 0) fail(json.where() + ": attn_type", "0", "another", "only the relative one");
  config.vocabulary.check(json.where());
  FolderWeights weights(folder, WeightFormat::fp32);
  return std::make_shared<TransformerXl>(config, weights);
}

void add_transformer_xl_fields(Fields& fields, TransformerXlConfig& config) {
  add_layers(fields, config.layers);
  add_hidden_size(fields, config.vocabulary.hidden_size);
  add_heads(fields, config.heads);
  add_ffn_size(fields, config.ffn_size);
  add_dropout(fields, config.dropout);
  fields.add("model.attention_dropout", config.attention_dropout, "share of attention dropped in training")
      .range(0, 0.99);
  add_tied(fields, config.vocabulary.is_tied);
  fields.add("model.memory_tokens", config.memory_tokens, "past positions that stay visible").range(0, 1 << 20);
  fields.add("model.clamp_tokens", config.clamp_tokens, "distances beyond it look alike; 0: none").range(0, 1 << 20);
  fields.add("model.same_length", config.is_same_length,
             "each position sees memory_tokens keys, not also the rest of the memory");
  fields.add("model.pre_norm", config.is_pre_norm, "LayerNorm before each part, not after it");
  add_clusters(fields, config.vocabulary);
}

std::shared_ptr<BaseModel> make_transformer_xl(TransformerXlConfig config, int64_t vocabulary_size,
                                               WeightSource& source) {
  if (config.is_same_length && config.memory_tokens < 1)
    fail("model.memory_tokens", "at least 1 with same_length", std::to_string(config.memory_tokens));
  config.vocabulary.size = vocabulary_size;
  tie_projections(config.vocabulary);
  return std::make_shared<TransformerXl>(config, source);
}

}  // namespace

Architecture transformer_xl_architecture() {
  return {.name = "transformer-xl",
          .new_settings = settings_of<TransformerXlConfig, add_transformer_xl_fields, make_transformer_xl>,
          .folder_names = {"transfo-xl"},
          .open_folder = open_transformer_xl};
}

}  // namespace fwl
