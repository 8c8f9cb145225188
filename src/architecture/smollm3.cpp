// SmolLM3: Llama with every fourth layer without rotation.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "architecture/decoder_files.h"
#include "support/error.h"
#include "tokenizer/json_field.h"

namespace fwl {
namespace {

constexpr int64_t usual_interval = 4;

void leave_out_rotation(DecoderConfig& config, int64_t interval) {
  config.layer_kinds.resize(static_cast<size_t>(config.layers));
  for (int64_t layer = interval - 1; layer < config.layers; layer += interval)
    config.layer_kinds[static_cast<size_t>(layer)].rotary = DecoderLayer::unrotated;
}

// no_rope_layers has a 1 for layers with rotation and a 0 for those without.
void read_rotation(DecoderConfig& config, const FolderConfig& json) {
  const auto& rotated = json_or_null(json.json(), "no_rope_layers");
  if (rotated.is_null()) return leave_out_rotation(config, json.count("no_rope_layer_interval", usual_interval));
  const auto where = json.where() + ": no_rope_layers";
  config.layer_kinds.resize(static_cast<size_t>(config.layers));
  if (!rotated.is_array() || rotated.size() != config.layer_kinds.size())
    fail(where, fmt::format("a list of {} numbers", config.layers), json_number_or_kind(rotated));
  for (size_t layer = 0; layer < config.layer_kinds.size(); ++layer) {
    if (!rotated[layer].is_number_integer()) fail(where, "0 or 1 for each layer", json_number_or_kind(rotated[layer]));
    if (rotated[layer] == 0) config.layer_kinds[layer].rotary = DecoderLayer::unrotated;
  }
}

// As in Llama's files, neighbours form pairs.
std::shared_ptr<BaseModel> open_smollm3_gguf(const Architecture::GgufPointer& file, WeightFormat format) {
  auto config = decoder_from_gguf(file);
  config.rotary_pairs = RotaryPairs::neighbours;
  leave_out_rotation(config, usual_interval);
  return make_decoder(config, file, format);
}

std::shared_ptr<BaseModel> open_smollm3_folder(const Architecture::FolderPointer& folder, WeightFormat format) {
  const FolderConfig json(*folder);
  auto config = decoder_from_folder(json, "smollm3", {.rope_base = 2e6, .is_tied = true});
  read_rotation(config, json);
  if (json.flag("use_sliding_window", false)) {  // layers without rotation slide, if any do
    std::vector<bool> sliding;
    for (const auto& kind : config.layer_kinds) sliding.push_back(kind.rotary == DecoderLayer::unrotated);
    set_windows(config, json.count_or_none("sliding_window"), sliding_layers(json, sliding));
  }
  config.has_attention_bias = config.has_output_bias = json.flag("attention_bias", false);
  expect_activation(json, "hidden_act", "silu");
  if (json.flag("mlp_bias", false)) fail(json.where() + ": mlp_bias", "false", "true");
  return make_decoder(config, folder, format);
}

}  // namespace

Architecture smollm3_architecture() {
  return {.name = "smollm3",
          .gguf_names = {"smollm3"},
          .open_gguf = open_smollm3_gguf,
          .folder_names = {"smollm3"},
          .open_folder = open_smollm3_folder};
}

}  // namespace fwl
