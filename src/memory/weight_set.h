// The six weights of a fast weight layer, and anything that comes once per weight: sums, step sizes, decays.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>

namespace fwl {

// Slow weights: U: D,H  a: H  W: H,D  b: D  gain: D  shift: D. Sums of gradients carry a leading B. Step sizes and
// decays are single numbers. An undefined tensor stands for "absent": a sum of nothing, no decay.
struct WeightSet {
  at::Tensor U, a, W, b, gain, shift;

  std::array<at::Tensor*, 6> all() { return {&U, &a, &W, &b, &gain, &shift}; }
  std::array<const at::Tensor*, 6> all() const { return {&U, &a, &W, &b, &gain, &shift}; }
  bool is_defined() const { return U.defined(); }
};

inline constexpr std::array<const char*, 6> weight_names = {"U", "a", "W", "b", "gain", "shift"};

template <class Function, class... Sets>
WeightSet map_weights(const Function& function, const Sets&... sets) {
  return {function(sets.U...), function(sets.a...),    function(sets.W...),
          function(sets.b...), function(sets.gain...), function(sets.shift...)};
}

}  // namespace fwl
