#include "store/import_gpt2.h"

#include "store/model_config.h"
#include "support/error.h"

namespace fwl {
namespace {

// The published file lacks the prefix of models saved by transformers.
class WithoutPrefix : public FolderWeights {
 public:
  using FolderWeights::FolderWeights;

  bool has(const std::string& name) const override { return FolderWeights::has(in_file(name)); }
  at::Tensor tensor(const std::string& name, at::IntArrayRef shape, const Initial& initial) override {
    return FolderWeights::tensor(in_file(name), shape, initial);
  }
  Matrix matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) override {
    return FolderWeights::matrix(in_file(name), rows, columns, initial);
  }

 private:
  std::string in_file(const std::string& name) const {
    constexpr std::string_view prefix = "transformer.";
    if (FolderWeights::has(name) || !name.starts_with(prefix)) return name;
    const auto bare = name.substr(prefix.size());
    return FolderWeights::has(bare) ? bare : name;
  }
};

}  // namespace

std::shared_ptr<Gpt2> import_gpt2(const std::shared_ptr<const HuggingFaceFolder>& folder, WeightFormat format) {
  const ModelConfig json(*folder);
  Gpt2Config config;
  config.vocabulary_size = json.count("vocab_size");
  config.width = json.count("n_embd");
  config.layers = json.count("n_layer");
  config.heads = json.count("n_head");
  config.inner_width = json.count("n_inner", 4 * config.width);
  config.context_tokens = json.count("n_positions", json.count_or_none("n_ctx"));
  config.norm_epsilon = json.number("layer_norm_epsilon", 1e-5);
  config.is_tied = json.flag("tie_word_embeddings", true);
  config.dropout = json.number("resid_pdrop", 0.1);
  if (const auto activation = json.text("activation_function", "gelu_new"); activation != "gelu_new")
    fail(json.where() + ": activation_function", "gelu_new", "'" + activation + "'");
  WithoutPrefix weights(folder, format);
  return std::make_shared<Gpt2>(config, weights);
}

}  // namespace fwl
