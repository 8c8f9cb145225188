#include "data/permutation.h"

#include <bit>

#include "support/mix_bits.h"

namespace fwl {
Permutation::Permutation(uint64_t size, uint64_t seed, uint64_t epoch) : size_(size) {
  const auto bits = static_cast<int>(std::bit_width(size > 1 ? size - 1 : 1));
  half_bits_ = (bits + 1) / 2;
  auto state = mix_bits(mix_bits(seed) ^ epoch);
  for (auto& key : keys_) key = state = mix_bits(state);
}

// A Feistel network over 2 * half_bits_ bits: a bijection whatever its round function is.
uint64_t Permutation::encrypt(uint64_t index) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = index >> half_bits_, right = index & mask;
  for (const auto key : keys_) {
    const auto next = left ^ (mix_bits(right ^ key) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

// The network covers fewer than 4 * size numbers. Results outside 0..size-1 are encrypted again until one is inside.
uint64_t Permutation::operator()(uint64_t index) const {
  do {
    index = encrypt(index);
  } while (index >= size_);
  return index;
}

}  // namespace fwl
