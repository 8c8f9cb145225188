#include "text/permutation.h"

#include <bit>

namespace fwl {
namespace {

// The finalizer of SplitMix64: every input bit changes every output bit about half of the time.
uint64_t mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

}  // namespace

Permutation::Permutation(uint64_t size, uint64_t seed, uint64_t epoch) : size_(size) {
  const auto bits = static_cast<int>(std::bit_width(size > 1 ? size - 1 : 1));
  half_bits_ = (bits + 1) / 2;
  auto state = mix(mix(seed) ^ epoch);
  for (auto& key : keys_) key = state = mix(state);
}

// A Feistel network over 2 * half_bits_ bits: a bijection whatever its round function is.
uint64_t Permutation::encrypt(uint64_t index) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = index >> half_bits_, right = index & mask;
  for (const auto key : keys_) {
    const auto next = left ^ (mix(right ^ key) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

// The network covers fewer than 4 * size numbers; those outside are walked over, so that a bijection remains.
uint64_t Permutation::operator()(uint64_t index) const {
  do {
    index = encrypt(index);
  } while (index >= size_);
  return index;
}

}  // namespace fwl
