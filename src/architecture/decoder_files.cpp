#include "architecture/decoder_files.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "architecture/rotary_scaling.h"
#include "base/decoder.h"
#include "engine/torch.h"
#include "support/error.h"
#include "tokenizer/json_field.h"

namespace fwl {
namespace {

using NamePair = std::pair<std::string_view, std::string_view>;

constexpr std::array<NamePair, 6> model_names = {{{"model.embed_tokens.weight", "token_embd.weight"},
                                                  {"model.norm.weight", "output_norm.weight"},
                                                  {"lm_head.weight", "output.weight"},
                                                  {"rope_freqs.weight", "rope_freqs.weight"},
                                                  {"rope_factors_short.weight", "rope_factors_short.weight"},
                                                  {"rope_factors_long.weight", "rope_factors_long.weight"}}};
constexpr std::array<NamePair, 14> layer_names = {{{"input_layernorm", "attn_norm"},
                                                   {"self_attn.q_proj", "attn_q"},
                                                   {"self_attn.k_proj", "attn_k"},
                                                   {"self_attn.v_proj", "attn_v"},
                                                   {"self_attn.qkv_proj", "attn_qkv"},
                                                   {"self_attn.o_proj", "attn_output"},
                                                   {"self_attn.q_norm", "attn_q_norm"},
                                                   {"self_attn.k_norm", "attn_k_norm"},
                                                   {"pre_feedforward_layernorm", "ffn_norm"},
                                                   {"post_feedforward_layernorm", "post_ffw_norm"},
                                                   {"mlp.gate_proj", "ffn_gate"},
                                                   {"mlp.up_proj", "ffn_up"},
                                                   {"mlp.gate_up_proj", "ffn_up"},
                                                   {"mlp.down_proj", "ffn_down"}}};

// "model.layers.3.mlp.up_proj.weight" -> "blk.3.ffn_up.weight"
std::string gguf_name(NormPlacement norms, const std::string& name) {
  for (const auto& [published, in_file] : model_names)
    if (name == published) return std::string(in_file);
  constexpr std::string_view prefix = "model.layers.";
  const std::string_view rest = std::string_view(name).substr(prefix.size());  // "3.mlp.up_proj.weight"
  const auto first_dot = rest.find('.'), last_dot = rest.rfind('.');
  const auto part = rest.substr(first_dot + 1, last_dot - first_dot - 1);
  const auto in_layer = [&](std::string_view in_file) {
    return fmt::format("blk.{}.{}{}", rest.substr(0, first_dot), in_file, rest.substr(last_dot));
  };
  if (part == "post_attention_layernorm")
    return in_layer(norms == NormPlacement::before ? "ffn_norm" : "post_attention_norm");
  for (const auto& [published, in_file] : layer_names)
    if (part == published) return in_layer(in_file);
  TORCH_CHECK(false, "no GGUF name for ", name);
}

GgufWeights gguf_weights(const Architecture::GgufPointer& file, WeightFormat format, NormPlacement norms) {
  return {file, format, [norms](const std::string& name) { return gguf_name(norms, name); }};
}

// Models that also see images keep the text part under one of these prefixes, by the age of the folder.
std::string name_in_folder(const HuggingFaceFolder& folder, const std::string& name) {
  if (folder.find(name)) return name;
  constexpr std::string_view model = "model.";
  const bool is_in_model = name.starts_with(model);
  const auto candidates = {"language_model." + name,
                           is_in_model ? "model.language_model." + name.substr(model.size()) : name};
  for (const auto& candidate : candidates)
    if (folder.find(candidate)) return candidate;
  return name;
}

}  // namespace

DecoderConfig decoder_from_gguf(const Architecture::GgufPointer& file) {
  const GgufSettings settings(*file);
  const auto* embedding = file->find_tensor("token_embd.weight");
  if (!embedding) fail(file->where(), "a tensor token_embd.weight", "none", "the file is incomplete");
  DecoderConfig config;
  config.architecture = settings.architecture();
  config.vocabulary_size = embedding->shape[0];
  config.hidden_size = settings.count("embedding_length");
  config.layers = settings.count("block_count");
  config.heads = settings.count("attention.head_count");
  config.kv_heads = settings.count("attention.head_count_kv", config.heads);
  config.head_size = settings.count("attention.key_length", std::max<int64_t>(1, config.hidden_size / config.heads));
  config.ffn_size = settings.count("feed_forward_length");
  config.context_tokens = settings.count("context_length");
  config.norm_epsilon = settings.number("attention.layer_norm_rms_epsilon");
  auto weights = gguf_weights(file, WeightFormat::quantized, config.norms);
  config.rotaries = {rotary_from_gguf(settings, weights, config.head_size)};
  const auto in_first_layer = [&](const char* part) { return weights.has(fmt::format("model.layers.0.{}", part)); };
  config.is_tied = !weights.has("lm_head.weight");
  config.has_joined_attention = in_first_layer("self_attn.qkv_proj.weight");
  config.has_attention_bias = in_first_layer("self_attn.q_proj.bias") || in_first_layer("self_attn.qkv_proj.bias");
  config.has_output_bias = in_first_layer("self_attn.o_proj.bias");
  config.has_joined_gate = !in_first_layer("mlp.gate_proj.weight");
  return config;
}

std::shared_ptr<BaseModel> make_decoder(const DecoderConfig& config, const Architecture::GgufPointer& file,
                                        WeightFormat format) {
  auto weights = gguf_weights(file, format, config.norms);
  return std::make_shared<Decoder>(config, weights);
}

at::Tensor gguf_vector(const Architecture::GgufPointer& file, const std::string& name, int64_t count) {
  return gguf_weights(file, WeightFormat::quantized, NormPlacement::before).tensor(name, {count}, {});
}

DecoderConfig decoder_from_folder(const FolderConfig& json, const std::string& architecture,
                                  const FolderDefaults& defaults) {
  const auto count = [&](const char* name, int64_t otherwise) {
    return otherwise == 0 ? json.count(name) : json.count(name, otherwise);
  };
  DecoderConfig config;
  config.architecture = architecture;
  config.vocabulary_size = count("vocab_size", defaults.vocabulary_size);
  config.hidden_size = json.count("hidden_size");
  config.layers = json.count("num_hidden_layers");
  config.heads = count("num_attention_heads", defaults.heads);
  config.kv_heads = json.count("num_key_value_heads", defaults.kv_heads == 0 ? config.heads : defaults.kv_heads);
  const int64_t equal_share = std::max<int64_t>(1, config.hidden_size / config.heads);
  config.head_size = json.count("head_dim", defaults.head_size == 0 ? equal_share : defaults.head_size);
  config.ffn_size = json.count("intermediate_size");
  config.context_tokens = count("max_position_embeddings", defaults.context_tokens);
  config.norm_epsilon = json.number("rms_norm_eps", defaults.norm_epsilon);
  if (config.head_size % 2 != 0) fail(json.where() + ": head_dim", "an even number", std::to_string(config.head_size));
  config.rotaries = {rotary_from_folder(json, config.head_size, defaults.rope_base)};
  config.is_tied = json.flag("tie_word_embeddings", defaults.is_tied);
  return config;
}

std::shared_ptr<BaseModel> make_decoder(const DecoderConfig& config, const Architecture::FolderPointer& folder,
                                        WeightFormat format) {
  FolderWeights weights(folder, format, [&](const std::string& name) { return name_in_folder(*folder, name); });
  return std::make_shared<Decoder>(config, weights);
}

void set_windows(DecoderConfig& config, int64_t window_tokens, const std::vector<bool>& sliding) {
  config.layer_kinds.resize(static_cast<size_t>(config.layers));
  if (window_tokens == 0 || window_tokens >= config.context_tokens) return;
  for (size_t layer = 0; layer < config.layer_kinds.size(); ++layer)
    config.layer_kinds[layer].window_tokens = sliding[layer] ? window_tokens : 0;
}

void set_upper_windows(DecoderConfig& config, const FolderConfig& json) {
  if (!json.flag("use_sliding_window", false)) return;
  const int64_t first = json.count_or_none("max_window_layers");
  std::vector<bool> upper;
  for (int64_t layer = 0; layer < config.layers; ++layer) upper.push_back(layer >= first);
  set_windows(config, json.count_or_none("sliding_window"), sliding_layers(json, upper));
}

void set_window(DecoderConfig& config, int64_t window_tokens) {
  set_windows(config, window_tokens, std::vector<bool>(static_cast<size_t>(config.layers), true));
}

std::vector<bool> sliding_layers(const FolderConfig& json, std::vector<bool> otherwise) {
  const auto& types = json_or_null(json.json(), "layer_types");
  if (types.is_null()) return otherwise;
  const auto where = json.where() + ": layer_types";
  if (!types.is_array() || types.size() != otherwise.size())
    fail(where, fmt::format("a list of {} kinds of layers", otherwise.size()), json_number_or_kind(types));
  for (size_t layer = 0; layer < otherwise.size(); ++layer) {
    const bool is_sliding = types[layer] == "sliding_attention";
    if (!is_sliding && types[layer] != "full_attention")
      fail(where, "full_attention or sliding_attention", types[layer].is_string() ? types[layer].dump() : "no text");
    otherwise[layer] = is_sliding;
  }
  return otherwise;
}

void expect_activation(const FolderConfig& json, const char* name, const std::string& expected) {
  if (const auto activation = json.text(name, expected); activation != expected)
    fail(fmt::format("{}: {}", json.where(), name), expected, "'" + activation + "'");
}

}  // namespace fwl
