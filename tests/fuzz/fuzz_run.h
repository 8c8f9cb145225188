// Runs a fuzz target on mutated inputs and says what became of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.h"

namespace fwl {

struct FuzzResult {
  int64_t inputs = 0;
  int64_t accepted = 0;
  int64_t rejected = 0;
  double seconds = 0;
  double slowest_seconds = 0;  // of the processor for one input, so that a busy machine is no failure
  std::string failure;         // empty: none; otherwise what was thrown, and the run ended there
  std::string failing_input;   // the bytes that did it
};

// Input number `index` of a target; the same arguments give the same bytes.
std::string fuzz_input(const FuzzTarget& target, uint64_t seed, int64_t index);

// `before_each` (may be empty) sees every input before it is run, so that a crash can be traced to it.
FuzzResult fuzz(const FuzzTarget& target, int64_t inputs, uint64_t seed,
                const std::function<void(int64_t, std::string_view)>& before_each = {});

}  // namespace fwl
