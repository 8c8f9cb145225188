#include "fuzz/fuzz_target.h"

namespace fwl {

std::vector<FuzzTarget> all_fuzz_targets() {
  return {gguf_target()};
}

}  // namespace fwl
