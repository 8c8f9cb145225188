#include "base/gpt2.h"

#include "architecture/architecture.h"
#include "architecture/folder_config.h"
#include "architecture/shared_fields.h"
#include "support/error.h"

namespace fwl {
namespace {

// The published file lacks the prefix of models saved by transformers.
FileName without_prefix(const HuggingFaceFolder& folder) {
  return [&folder](const std::string& name) {
    constexpr std::string_view prefix = "transformer.";
    if (folder.find(name) || !name.starts_with(prefix)) return name;
    const auto bare = name.substr(prefix.size());
    return folder.find(bare) ? bare : name;
  };
}

std::shared_ptr<BaseModel> open_gpt2(const Architecture::FolderPointer& folder, WeightFormat format) {
  const FolderConfig json(*folder);
  Gpt2Config config;
  config.vocabulary_size = json.count("vocab_size");
  config.hidden_size = json.count("n_embd");
  config.layers = json.count("n_layer");
  config.heads = json.count("n_head");
  config.ffn_size = json.count("n_inner", 4 * config.hidden_size);
  config.context_tokens = json.count("n_positions", json.count_or_none("n_ctx"));
  config.norm_epsilon = json.number("layer_norm_epsilon", 1e-5);
  config.is_tied = json.flag("tie_word_embeddings", true);
  config.dropout = json.number("resid_pdrop", 0.1);
  if (const auto activation = json.text("activation_function", "gelu_new"); activation != "gelu_new")
    fail(json.where() + ": activation_function", "gelu_new", "'" + activation + "'");
  FolderWeights weights(folder, format, without_prefix(*folder));
  return std::make_shared<Gpt2>(config, weights);
}

void add_gpt2_fields(Fields& fields, Gpt2Config& config) {
  add_layers(fields, config.layers);
  add_hidden_size(fields, config.hidden_size);
  add_heads(fields, config.heads);
  add_ffn_size(fields, config.ffn_size);
  add_dropout(fields, config.dropout);
  add_tied(fields, config.is_tied);
  add_context_tokens(fields, config.context_tokens);
}

std::shared_ptr<BaseModel> make_gpt2(Gpt2Config config, int64_t vocabulary_size, WeightSource& source) {
  config.vocabulary_size = vocabulary_size;
  return std::make_shared<Gpt2>(config, source);
}

}  // namespace

Architecture gpt2_architecture() {
  return {.name = "gpt2",
          .new_settings = settings_of<Gpt2Config, add_gpt2_fields, make_gpt2>,
          .folder_names = {"gpt2"},
          .open_folder = open_gpt2};
}

}  // namespace fwl
