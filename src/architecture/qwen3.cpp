// Qwen3: Llama with norms of queries and keys over each head, and heads of their own size.
#include "architecture/decoder_files.h"

namespace fwl {
namespace {

std::shared_ptr<BaseModel> open_qwen3_gguf(const Architecture::GgufPointer& file, WeightFormat format) {
  auto config = decoder_from_gguf(file);
  config.query_key_norms = QueryKeyNorms::per_head;
  return make_decoder(config, file, format);
}

std::shared_ptr<BaseModel> open_qwen3_folder(const Architecture::FolderPointer& folder, WeightFormat format) {
  const FolderConfig json(*folder);
  auto config = decoder_from_folder(json, "qwen3", {.head_size = 128});
  config.query_key_norms = QueryKeyNorms::per_head;
  config.has_attention_bias = config.has_output_bias = json.flag("attention_bias", false);
  set_upper_windows(config, json);
  expect_activation(json, "hidden_act", "silu");
  return make_decoder(config, folder, format);
}

}  // namespace

Architecture qwen3_architecture() {
  return {.name = "qwen3",
          .gguf_names = {"qwen3"},
          .open_gguf = open_qwen3_gguf,
          .folder_names = {"qwen3"},
          .open_folder = open_qwen3_folder};
}

}  // namespace fwl
