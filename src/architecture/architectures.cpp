#include "architecture/architecture.h"

namespace fwl {

Architecture sparse_local_architecture();
Architecture transformer_xl_architecture();
Architecture llama_architecture();
Architecture qwen2_architecture();
Architecture qwen3_architecture();
Architecture gemma3_architecture();
Architecture phi3_architecture();
Architecture olmo2_architecture();
Architecture smollm3_architecture();
Architecture gpt2_architecture();

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> all = {
      sparse_local_architecture(), transformer_xl_architecture(), llama_architecture(), qwen2_architecture(),
      qwen3_architecture(),        gemma3_architecture(),         phi3_architecture(),  olmo2_architecture(),
      smollm3_architecture(),      gpt2_architecture(),
  };
  return all;
}

}  // namespace fwl
