#include "files/huggingface_folder.h"
#include "fuzz/fuzz_target.h"

namespace fwl {
namespace {

void run(std::string_view bytes) {
  for (const auto& [name, shard] : parse_shard_index("model.safetensors.index.json", bytes))
    if (shard.find('/') != std::string::npos) throw std::logic_error("a shard outside the folder: " + shard);
}

}  // namespace

FuzzTarget shard_index_target() {
  return {
      "shard_index",
      {R"({"metadata": {"total_size": 123456}, "weight_map": {"model.embed.weight": "model-00001-of-00002.safetensors",
               "lm_head.weight": "model-00002-of-00002.safetensors"}})"},
      run};
}

}  // namespace fwl
