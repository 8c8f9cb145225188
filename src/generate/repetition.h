// How much a text repeats itself.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace fwl {

struct Repetition {
  std::array<double, 4> distinct = {1, 1, 1,
                                    1};  // distinct n-grams over all n-grams, n = 1 to 4; 1 where there are none
  double repeated_4_grams() const { return 1 - distinct[3]; }  // the share of 4-grams that have come before
};

Repetition repetition(std::span<const int64_t> tokens);

}  // namespace fwl
