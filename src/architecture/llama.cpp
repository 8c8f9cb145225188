#include "base/llama.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "architecture/architecture.h"
#include "architecture/folder_config.h"
#include "architecture/shared_fields.h"
#include "engine/torch.h"
#include "support/error.h"
#include "tokenizer/json_field.h"

namespace fwl {
namespace {

using NamePair = std::pair<std::string_view, std::string_view>;

constexpr std::array<NamePair, 4> model_names = {{{"model.embed_tokens.weight", "token_embd.weight"},
                                                  {"model.norm.weight", "output_norm.weight"},
                                                  {"lm_head.weight", "output.weight"},
                                                  {"rope_freqs.weight", "rope_freqs.weight"}}};
constexpr std::array<NamePair, 9> layer_names = {{{"input_layernorm", "attn_norm"},
                                                  {"self_attn.q_proj", "attn_q"},
                                                  {"self_attn.k_proj", "attn_k"},
                                                  {"self_attn.v_proj", "attn_v"},
                                                  {"self_attn.o_proj", "attn_output"},
                                                  {"post_attention_layernorm", "ffn_norm"},
                                                  {"mlp.gate_proj", "ffn_gate"},
                                                  {"mlp.up_proj", "ffn_up"},
                                                  {"mlp.down_proj", "ffn_down"}}};

// "model.layers.3.mlp.up_proj.weight" -> "blk.3.ffn_up.weight"
std::string gguf_name(const std::string& name) {
  for (const auto& [published, in_file] : model_names)
    if (name == published) return std::string(in_file);
  constexpr std::string_view prefix = "model.layers.";
  const std::string_view rest = std::string_view(name).substr(prefix.size());  // "3.mlp.up_proj.weight"
  const auto first_dot = rest.find('.'), last_dot = rest.rfind('.');
  const auto part = rest.substr(first_dot + 1, last_dot - first_dot - 1);
  for (const auto& [published, in_file] : layer_names)
    if (part == published) return fmt::format("blk.{}.{}{}", rest.substr(0, first_dot), in_file, rest.substr(last_dot));
  TORCH_CHECK(false, "no GGUF name for ", name);
}

int64_t gguf_count(const GgufFile& file, const char* name, std::optional<int64_t> otherwise = std::nullopt) {
  const auto key = fmt::format("llama.{}", name);
  const auto value = otherwise ? file.get_or<int64_t>(key, *otherwise) : file.get<int64_t>(key);
  if (value < 1 || value > std::numeric_limits<int32_t>::max())
    fail(file.where() + ": " + key, "a whole number of at least 1", std::to_string(value));
  return value;
}

// Llama 3's context extension: low frequencies are divided by `factor`, high ones stay, those between are interpolated.
at::Tensor llama3_divisors(const LlamaConfig& config, double factor, double low, double high, double original_tokens) {
  std::vector<double> divisors;
  for (int64_t index = 0; index < config.head_size / 2; ++index) {
    const double exponent = 2 * static_cast<double>(index) / static_cast<double>(config.head_size);
    const double wavelength = 2 * std::numbers::pi * std::pow(config.rope_base, exponent);
    const double turns = original_tokens / wavelength;
    const double unscaled = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    divisors.push_back(1 / ((1 - unscaled) / factor + unscaled));
  }
  return at::tensor(divisors, at::kDouble);
}

at::Tensor rotary_divisors(const LlamaConfig& config, const FolderConfig& json) {
  const auto& scaling = json_or_null(json.json(), "rope_scaling");
  if (scaling.is_null()) return {};
  const auto where = json.where() + ": rope_scaling";
  if (!scaling.is_object()) fail(where, "an object", json_number_or_kind(scaling));
  const auto kind =
      json_field<std::string>(where, scaling, "rope_type", json_field<std::string>(where, scaling, "type", "default"));
  if (kind == "default") return {};
  const double factor = json_field<double>(where, scaling, "factor");
  if (kind == "linear") return at::full({config.head_size / 2}, factor, at::kDouble);
  if (kind == "llama3")
    return llama3_divisors(config, factor, json_field<double>(where, scaling, "low_freq_factor"),
                           json_field<double>(where, scaling, "high_freq_factor"),
                           json_field<double>(where, scaling, "original_max_position_embeddings"));
  fail(where, "default, linear or llama3", "'" + kind + "'", "this way to stretch the context is not supported");
}

// Newer folders keep the base inside rope_parameters.
double rope_base(const FolderConfig& json) {
  const auto& parameters = json_or_null(json.json(), "rope_parameters");
  const double otherwise = json.number("rope_theta", 10000.0);
  return parameters.is_object() ? json_field<double>(json.where(), parameters, "rope_theta", otherwise) : otherwise;
}

std::shared_ptr<BaseModel> open_llama_gguf(const Architecture::GgufPointer& file, WeightFormat format) {
  const auto* embedding = file->find_tensor("token_embd.weight");
  if (!embedding) fail(file->where(), "a tensor token_embd.weight", "none", "the file is incomplete");
  LlamaConfig config;
  config.vocabulary_size = embedding->shape[0];
  config.hidden_size = gguf_count(*file, "embedding_length");
  config.layers = gguf_count(*file, "block_count");
  config.heads = gguf_count(*file, "attention.head_count");
  config.kv_heads = gguf_count(*file, "attention.head_count_kv", config.heads);
  config.head_size = gguf_count(*file, "attention.key_length", std::max<int64_t>(1, config.hidden_size / config.heads));
  config.ffn_size = gguf_count(*file, "feed_forward_length");
  config.context_tokens = gguf_count(*file, "context_length");
  config.norm_epsilon = file->get<double>("llama.attention.layer_norm_rms_epsilon");
  config.rope_base = file->get_or<double>("llama.rope.freq_base", 10000.0);
  config.rotary_pairs = RotaryPairs::neighbours;
  const auto turned = gguf_count(*file, "rope.dimension_count", config.head_size);
  if (turned != config.head_size)
    fail(file->where() + ": llama.rope.dimension_count", std::to_string(config.head_size), std::to_string(turned));
  GgufWeights weights(file, format, gguf_name);
  if (weights.has("rope_freqs.weight"))
    config.rotary_divisors = weights.tensor("rope_freqs.weight", {config.head_size / 2}, {});
  const auto scaling = file->get_or<std::string_view>("llama.rope.scaling.type", "none");
  if (scaling == "linear")
    config.rotary_divisors =
        at::full({config.head_size / 2}, file->get<double>("llama.rope.scaling.factor"), at::kDouble);
  else if (scaling != "none")
    fail(file->where() + ": llama.rope.scaling.type", "none or linear", std::string(scaling));
  config.is_tied = !weights.has("lm_head.weight");
  config.has_attention_bias = weights.has("model.layers.0.self_attn.q_proj.bias");
  config.has_output_bias = weights.has("model.layers.0.self_attn.o_proj.bias");
  return std::make_shared<Llama>(config, weights);
}

std::shared_ptr<BaseModel> open_llama_folder(const Architecture::FolderPointer& folder, WeightFormat format) {
  const FolderConfig json(*folder);
  LlamaConfig config;
  config.vocabulary_size = json.count("vocab_size");
  config.hidden_size = json.count("hidden_size");
  config.layers = json.count("num_hidden_layers");
  config.heads = json.count("num_attention_heads");
  config.kv_heads = json.count("num_key_value_heads", config.heads);
  config.head_size = json.count("head_dim", std::max<int64_t>(1, config.hidden_size / config.heads));
  config.ffn_size = json.count("intermediate_size");
  config.context_tokens = json.count("max_position_embeddings");
  config.sliding_tokens = std::min(json.count_or_none("sliding_window"), config.context_tokens);
  config.norm_epsilon = json.number("rms_norm_eps", 1e-6);
  config.rope_base = rope_base(json);
  config.rotary_divisors = rotary_divisors(config, json);
  config.is_tied = json.flag("tie_word_embeddings", false);
  config.has_attention_bias = config.has_output_bias = json.flag("attention_bias", false);
  if (const auto activation = json.text("hidden_act", "silu"); activation != "silu")
    fail(json.where() + ": hidden_act", "silu", "'" + activation + "'");
  if (json.flag("mlp_bias", false)) fail(json.where() + ": mlp_bias", "false", "true");
  if (config.head_size % 2 != 0) fail(json.where() + ": head_dim", "an even number", std::to_string(config.head_size));
  FolderWeights weights(folder, format);
  return std::make_shared<Llama>(config, weights);
}

void add_llama_fields(Fields& fields, LlamaConfig& config) {
  add_layers(fields, config.layers);
  add_hidden_size(fields, config.hidden_size);
  add_heads(fields, config.heads);
  fields.add("model.kv_heads", config.kv_heads, "heads of keys and values, shared by groups of heads; 0: heads")
      .range(0, 1024);
  add_ffn_size(fields, config.ffn_size);
  add_tied(fields, config.is_tied);
  add_context_tokens(fields, config.context_tokens);
  add_rope_base(fields, config.rope_base);
}

std::shared_ptr<BaseModel> make_llama(LlamaConfig config, int64_t vocabulary_size, WeightSource& source) {
  if (config.hidden_size % (2 * config.heads) != 0)
    fail("llama model", "heads of equal and even size",
         fmt::format("hidden size {}, {} heads", config.hidden_size, config.heads));
  config.vocabulary_size = vocabulary_size;
  config.head_size = config.hidden_size / config.heads;
  if (config.kv_heads == 0) config.kv_heads = config.heads;
  return std::make_shared<Llama>(config, source);
}

}  // namespace

Architecture llama_architecture() {
  return {.name = "llama",
          .new_settings = settings_of<LlamaConfig, add_llama_fields, make_llama>,
          .gguf_names = {"llama"},
          .open_gguf = open_llama_gguf,
          .folder_names = {"llama", "mistral"},
          .open_folder = open_llama_folder};
}

}  // namespace fwl
