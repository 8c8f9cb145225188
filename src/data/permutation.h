// A random permutation of 0..size-1 in constant memory: a keyed bijection.
#pragma once

#include <array>
#include <cstdint>

namespace fwl {

class Permutation {
 public:
  // Equal sizes and keys give equal orders, on every machine.
  Permutation(uint64_t size, uint64_t seed, uint64_t epoch);

  uint64_t size() const { return size_; }
  uint64_t operator()(uint64_t index) const;  // index < size

 private:
  uint64_t encrypt(uint64_t index) const;

  uint64_t size_;
  int half_bits_ = 1;
  std::array<uint64_t, 6> keys_{};
};

}  // namespace fwl
