// How much a text repeats itself.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace fwl {

struct Repetition {
  // The share of distinct n-grams, n = 1 to 4; 1 if there are none.
  std::array<double, 4> distinct = {1, 1, 1, 1};
  double repeated_4_grams() const { return 1 - distinct[3]; }  // the share of 4-grams that occurred before
};

Repetition repetition(std::span<const int64_t> tokens);

}  // namespace fwl
