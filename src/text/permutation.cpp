#include "text/permutation.h"

#include <bit>

#include "support/scrambled.h"

namespace fwl {
Permutation::Permutation(uint64_t size, uint64_t seed, uint64_t epoch) : size_(size) {
  const auto bits = static_cast<int>(std::bit_width(size > 1 ? size - 1 : 1));
  half_bits_ = (bits + 1) / 2;
  auto state = scrambled(scrambled(seed) ^ epoch);
  for (auto& key : keys_) key = state = scrambled(state);
}

// A Feistel network over 2 * half_bits_ bits: a bijection whatever its round function is.
uint64_t Permutation::encrypt(uint64_t index) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = index >> half_bits_, right = index & mask;
  for (const auto key : keys_) {
    const auto next = left ^ (scrambled(right ^ key) & mask);
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
