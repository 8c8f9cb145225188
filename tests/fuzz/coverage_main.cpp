// fwl_fuzz_coverage: one fuzz target under libFuzzer, which keeps inputs that reach new code. FWL_FUZZ_TARGET names it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "fuzz/fuzz_target.h"
#include "support/error.h"

namespace {

const fwl::FuzzTarget& chosen_target() {
  static const fwl::FuzzTarget target = [] {
    const char* wanted = std::getenv("FWL_FUZZ_TARGET");
    for (const auto& one : fwl::all_fuzz_targets())
      if (wanted && one.name == wanted) return one;
    std::fprintf(stderr, "fwl_fuzz_coverage: FWL_FUZZ_TARGET is to name one of");
    for (const auto& one : fwl::all_fuzz_targets()) std::fprintf(stderr, " %s", one.name.c_str());
    std::fprintf(stderr, "\n");
    std::exit(2);
  }();
  return target;
}

}  // namespace

// With FWL_FUZZ_SEEDS, writes the target's valid files into that folder and ends.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const auto& target = chosen_target();
  if (const char* folder = std::getenv("FWL_FUZZ_SEEDS")) {
    for (size_t index = 0; index < target.seeds.size(); ++index)
      std::ofstream(std::string(folder) + "/seed-" + std::to_string(index), std::ios::binary) << target.seeds[index];
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto& target = chosen_target();
  std::string input(reinterpret_cast<const char*>(data), size);
  try {
    target.run(target.repair ? target.repair(std::move(input)) : input);
  } catch (const fwl::UserError&) {  // rejected
  }
  return 0;
}
