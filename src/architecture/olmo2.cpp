// OLMo 2: norms after each part instead of before it, and norms of queries and keys over all heads together.
#include "architecture/decoder_files.h"

namespace fwl {
namespace {

void set_norms(DecoderConfig& config) {
  config.norms = NormPlacement::after;
  config.query_key_norms = QueryKeyNorms::whole;
}

std::shared_ptr<BaseModel> open_olmo2_gguf(const Architecture::GgufPointer& file, WeightFormat format) {
  auto config = decoder_from_gguf(file);
  set_norms(config);
  const GgufSettings settings(*file);
  set_windows(config, settings.count_or_none("attention.sliding_window"), settings.sliding_layers(config.layers, 4));
  return make_decoder(config, file, format);
}

std::shared_ptr<BaseModel> open_olmo2_folder(const Architecture::FolderPointer& folder, WeightFormat format) {
  const FolderConfig json(*folder);
  auto config = decoder_from_folder(json, "olmo2", {.norm_epsilon = 1e-5});
  set_norms(config);
  config.has_attention_bias = config.has_output_bias = json.flag("attention_bias", false);
  expect_activation(json, "hidden_act", "silu");
  return make_decoder(config, folder, format);
}

}  // namespace

Architecture olmo2_architecture() {
  return {.name = "olmo2",
          .gguf_names = {"olmo2"},
          .open_gguf = open_olmo2_gguf,
          .folder_names = {"olmo2"},
          .open_folder = open_olmo2_folder};
}

}  // namespace fwl
