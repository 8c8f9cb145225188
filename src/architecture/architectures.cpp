#include "architecture/architecture.h"

namespace fwl {

Architecture sparse_local_architecture();
Architecture transformer_xl_architecture();
Architecture llama_architecture();
Architecture gpt2_architecture();

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> all = {
      sparse_local_architecture(),
      transformer_xl_architecture(),
      llama_architecture(),
      gpt2_architecture(),
  };
  return all;
}

}  // namespace fwl
