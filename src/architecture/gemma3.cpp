// Gemma 3, its text part: norms before and after each part, norms of queries and keys, GeGLU, a scaled embedding that
// is also the head. Five of six layers see a sliding window and have a rotary base of their own.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "architecture/decoder_files.h"
#include "architecture/rotary_scaling.h"
#include "support/error.h"
#include "tokenizer/json_field.h"

namespace fwl {
namespace {

constexpr int64_t usual_period = 6, layers_of_27b = 62;
constexpr double usual_local_base = 10000;
constexpr size_t global_rotary = 0, local_rotary = 1;

// config.rotaries holds the one of the global layers.
void set_gemma3(DecoderConfig& config, int64_t window_tokens, double local_base, const std::vector<bool>& sliding) {
  config.norms = NormPlacement::around;
  config.query_key_norms = QueryKeyNorms::per_head;
  config.activation = GateActivation::gelu;
  config.embedding_scale = std::sqrt(static_cast<double>(config.hidden_size));
  config.rotaries.push_back({.base = local_base, .divisors = {}});
  set_windows(config, window_tokens, sliding);
  for (size_t layer = 0; layer < sliding.size(); ++layer)
    config.layer_kinds[layer].rotary = static_cast<int64_t>(sliding[layer] ? local_rotary : global_rotary);
}

// The gains in these files include the 1 that is added to those of folders.
std::shared_ptr<BaseModel> open_gemma3_gguf(const Architecture::GgufPointer& file, WeightFormat format) {
  auto config = decoder_from_gguf(file);
  const GgufSettings settings(*file);
  set_gemma3(config, settings.count_or_none("attention.sliding_window"),
             settings.number("rope.freq_base_swa", usual_local_base),
             settings.sliding_layers(config.layers, usual_period));
  // Only the largest model divides scores by something else than the root of the head size, and files do not say it.
  if (config.layers == layers_of_27b)
    config.score_scale = 1 / std::sqrt(static_cast<double>(config.hidden_size) / static_cast<double>(config.heads));
  if (settings.number("final_logit_softcapping", 0.0) != 0)
    fail(settings.place("final_logit_softcapping"), "none", "one", "soft caps of logits are not supported");
  return make_decoder(config, file, format);
}

void refuse_other_gemma3(const FolderConfig& json) {
  for (const auto* name : {"final_logit_softcapping", "attn_logit_softcapping"})
    if (json.number(name, 0.0) != 0) fail(fmt::format("{}: {}", json.where(), name), "none", "one", "not supported");
  for (const auto* name : {"attention_bias", "use_bidirectional_attention"})
    if (json.flag(name, false)) fail(fmt::format("{}: {}", json.where(), name), "false", "true", "not supported");
  expect_activation(json, "hidden_activation", "gelu_pytorch_tanh");
}

// Rotary settings of newer folders are in two parts: full_attention and sliding_attention.
RotaryConfig rotary_of(const FolderConfig& json, const char* part, const RotaryConfig& otherwise, int64_t head_size) {
  const auto& parameters = json_or_null(json.json(), "rope_parameters");
  if (!parameters.is_object() || !parameters.contains(part)) return otherwise;
  const FolderConfig rotary = json.part("rope_parameters").part(part);
  return rotary_from_settings(rotary.where(), rotary.json(), otherwise, head_size);
}

// Published folders leave out what is usual in the family.
std::shared_ptr<BaseModel> open_gemma3_folder(const Architecture::FolderPointer& folder, WeightFormat format) {
  const FolderConfig whole(*folder);
  const bool is_text = whole.text("model_type", "") == "gemma3_text";
  const auto json = is_text ? whole : whole.part("text_config");
  refuse_other_gemma3(json);
  auto config = decoder_from_folder(json, "gemma3",
                                    {.vocabulary_size = 262208,
                                     .heads = 8,
                                     .kv_heads = 4,
                                     .head_size = 256,
                                     .context_tokens = 131072,
                                     .rope_base = 1e6,
                                     .is_tied = true});
  config.gain_offset = 1;
  config.rotaries[0] = rotary_of(json, "full_attention", config.rotaries[0], config.head_size);
  const RotaryConfig local{.base = json.number("rope_local_base_freq", usual_local_base), .divisors = {}};
  std::vector<bool> usual;
  const int64_t period = json.count("sliding_window_pattern", usual_period);
  for (int64_t layer = 0; layer < config.layers; ++layer) usual.push_back((layer + 1) % period != 0);
  set_gemma3(config, json.count("sliding_window", 4096),
             rotary_of(json, "sliding_attention", local, config.head_size).base, sliding_layers(json, usual));
  config.score_scale = 1 / std::sqrt(json.number("query_pre_attn_scalar", 256.0));
  return make_decoder(config, folder, format);
}

}  // namespace

Architecture gemma3_architecture() {
  return {.name = "gemma3",
          .gguf_names = {"gemma3"},
          .open_gguf = open_gemma3_gguf,
          .folder_names = {"gemma3", "gemma3_text"},
          .open_folder = open_gemma3_folder};
}

}  // namespace fwl
