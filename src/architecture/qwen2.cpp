// Qwen2 and Qwen2.5: Llama with biases on queries, keys and values.
#include "architecture/decoder_files.h"

namespace fwl {
namespace {

std::shared_ptr<BaseModel> open_qwen2_gguf(const Architecture::GgufPointer& file, WeightFormat format) {
  return make_decoder(decoder_from_gguf(file), file, format);
}

std::shared_ptr<BaseModel> open_qwen2_folder(const Architecture::FolderPointer& folder, WeightFormat format) {
  const FolderConfig json(*folder);
  auto config = decoder_from_folder(json, "qwen2");
  config.has_attention_bias = true;
  set_upper_windows(config, json);
  expect_activation(json, "hidden_act", "silu");
  return make_decoder(config, folder, format);
}

}  // namespace

Architecture qwen2_architecture() {
  return {.name = "qwen2",
          .gguf_names = {"qwen2"},
          .open_gguf = open_qwen2_gguf,
          .folder_names = {"qwen2"},
          .open_folder = open_qwen2_folder};
}

}  // namespace fwl
