// Llama 1 to 3, and Mistral, which adds a sliding window.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "architecture/decoder_files.h"
#include "architecture/shared_fields.h"
#include "base/decoder.h"
#include "support/error.h"

namespace fwl {
namespace {

// The queries and keys of these files are permuted, so that neighbours form pairs.
std::shared_ptr<BaseModel> open_llama_gguf(const Architecture::GgufPointer& file, WeightFormat format) {
  auto config = decoder_from_gguf(file);
  config.rotary_pairs = RotaryPairs::neighbours;
  set_window(config, GgufSettings(*file).count_or_none("attention.sliding_window"));
  return make_decoder(config, file, format);
}

// Mistral has a window of 4,096 tokens if its config does not say.
int64_t llama_window(const FolderConfig& json) {
  const bool is_default = json.text("model_type", "") == "mistral" && !json.json().contains("sliding_window");
  return is_default ? 4096 : json.count_or_none("sliding_window");
}

std::shared_ptr<BaseModel> open_llama_folder(const Architecture::FolderPointer& folder, WeightFormat format) {
  const FolderConfig json(*folder);
  auto config = decoder_from_folder(json, "llama");
  set_window(config, llama_window(json));
  config.has_attention_bias = config.has_output_bias = json.flag("attention_bias", false);
  expect_activation(json, "hidden_act", "silu");
  if (json.flag("mlp_bias", false)) fail(json.where() + ": mlp_bias", "false", "true");
  return make_decoder(config, folder, format);
}

// What a new model can choose.
struct LlamaSettings {
  DecoderConfig config;
  double rope_base = 10000;
};

void add_llama_fields(Fields& fields, LlamaSettings& settings) {
  auto& config = settings.config;
  add_layers(fields, config.layers);
  add_hidden_size(fields, config.hidden_size);
  add_heads(fields, config.heads);
  fields.add("model.kv_heads", config.kv_heads, "heads of keys and values, shared by groups of heads; 0: heads")
      .range(0, 1024);
  add_ffn_size(fields, config.ffn_size);
  add_tied(fields, config.is_tied);
  add_context_tokens(fields, config.context_tokens);
  add_rope_base(fields, settings.rope_base);
}

std::shared_ptr<BaseModel> make_llama(LlamaSettings settings, int64_t vocabulary_size, WeightSource& source) {
  auto& config = settings.config;
  if (config.hidden_size % (2 * config.heads) != 0)
    fail("llama model", "heads of equal and even size",
         fmt::format("hidden size {}, {} heads", config.hidden_size, config.heads));
  config.vocabulary_size = vocabulary_size;
  config.head_size = config.hidden_size / config.heads;
  config.rotaries = {{.base = settings.rope_base, .divisors = {}}};
  if (config.kv_heads == 0) config.kv_heads = config.heads;
  return std::make_shared<Decoder>(config, source);
}

}  // namespace

Architecture llama_architecture() {
  return {.name = "llama",
          .new_settings = settings_of<LlamaSettings, add_llama_fields, make_llama>,
          .gguf_names = {"llama"},
          .open_gguf = open_llama_gguf,
          .folder_names = {"llama", "mistral"},
          .open_folder = open_llama_folder};
}

}  // namespace fwl
