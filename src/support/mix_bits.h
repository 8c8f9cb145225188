// A hash of one integer, for reproducible pseudo-random numbers.
#pragma once

#include <cstdint>

namespace fwl {

// The finalizer of SplitMix64: every input bit changes every output bit about half of the time.
inline uint64_t mix_bits(uint64_t bits) {
  bits += 0x9E3779B97F4A7C15ULL;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
  return bits ^ (bits >> 31);
}

}  // namespace fwl
