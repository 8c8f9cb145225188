#include "engine/pointwise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/tensor_checks.h"

namespace fwl {
namespace {

const RotaryPairs both_layouts[] = {RotaryPairs::neighbours, RotaryPairs::halves};

at::Tensor frequencies_of(int64_t half) {
  return at::pow(10000.0, -at::arange(half, at::kDouble) / static_cast<double>(half));
}

// Every pair as a complex number times e^(i angle), pair by pair.   x: B,T,heads,d, double
at::Tensor turned_pairs(const at::Tensor& x, const RotaryAngles& angles, RotaryPairs pairs) {
  const int64_t half = x.size(3) / 2;
  std::vector<at::Tensor> columns(static_cast<size_t>(2 * half));  // B,T,heads each
  for (int64_t pair = 0; pair < half; ++pair) {
    const int64_t first = pairs == RotaryPairs::neighbours ? 2 * pair : pair;
    const int64_t second = pairs == RotaryPairs::neighbours ? 2 * pair + 1 : half + pair;
    const auto a = x.select(3, first), b = x.select(3, second);
    const auto cosine = wide(angles.cosines).select(1, pair).view({1, -1, 1});  // 1,T,1
    const auto sine = wide(angles.sines).select(1, pair).view({1, -1, 1});      // 1,T,1
    columns[static_cast<size_t>(first)] = a * cosine - b * sine;
    columns[static_cast<size_t>(second)] = a * sine + b * cosine;
  }
  return at::stack(columns, 3);
}

TEST(Rotary, AnglesArePositionTimesFrequencyHoweverFarTheText) {
  const auto frequencies = frequencies_of(6);
  for (const int64_t first : {0, 7, 131071}) {
    const auto angles = rotary_angles(frequencies, first, 5);
    for (int64_t row = 0; row < 5; ++row)
      for (int64_t pair = 0; pair < 6; ++pair) {
        const double angle = static_cast<double>(first + row) * frequencies[pair].item<double>();
        EXPECT_NEAR(angles.cosines[row][pair].item<double>(), std::cos(angle), 6e-8);
        EXPECT_NEAR(angles.sines[row][pair].item<double>(), std::sin(angle), 6e-8);
      }
  }
}

TEST(Rotary, ValuesAndGradientsAreThoseOfComplexPairs) {
  at::manual_seed(1);
  for (const auto pairs : both_layouts)
    for (const int64_t half : {1, 3, 8, 17})
      for (const int64_t tokens : {1, 5, 70})
        for (const int64_t first : {0, 1000}) {
          const auto angles = rotary_angles(frequencies_of(half), first, tokens);
          const auto x = at::randn({2, tokens, 3, 2 * half}), upstream = at::randn_like(x);
          const auto definition = [&](const std::vector<at::Tensor>& in) { return turned_pairs(in[0], angles, pairs); };
          const auto rotation = [&](const std::vector<at::Tensor>& in) { return rotate_(in[0], angles, pairs); };
          const auto expected = differentiate(definition, {x}, upstream, at::kDouble);
          for (const auto& [type, tolerance] : {std::pair{at::kFloat, 2e-7}, {at::kDouble, 1e-15}}) {
            const auto actual = differentiate(rotation, {x}, upstream, type);
            EXPECT_LT(relative_difference(actual.value, expected.value), tolerance) << half << " " << tokens;
            EXPECT_LT(relative_difference(actual.gradients[0], expected.gradients[0]), tolerance)
                << half << " " << tokens;
          }
        }
}

TEST(Rotary, GradientsAreFiniteDifferences) {
  at::manual_seed(2);
  const auto x = at::randn({1, 4, 2, 10}), upstream = at::randn_like(x), direction = at::randn_like(x);
  const auto angles = rotary_angles(frequencies_of(5), 3, 4);
  for (const auto pairs : both_layouts) {
    const auto rotation = [&](const std::vector<at::Tensor>& in) { return rotate_(in[0], angles, pairs); };
    const double expected = numeric_slope(rotation, {x}, {direction}, upstream);
    for (const auto type : {at::kFloat, at::kDouble})
      EXPECT_NEAR(slope(differentiate(rotation, {x}, upstream, type).gradients, {direction}), expected,
                  (type == at::kFloat ? 1e-6 : 1e-9) * std::abs(expected) + 1e-6);
  }
}

TEST(Rotary, TurnsInPlaceOnlyWhereNoGradientIsWantedAndNumbersLieInOrder) {
  at::manual_seed(3);
  const auto angles = rotary_angles(frequencies_of(4), 5, 6);
  for (const auto pairs : both_layouts) {
    const auto x = at::randn({2, 6, 3, 8});
    const auto expected = turned_pairs(wide(x), angles, pairs);
    const auto kept = x.clone().requires_grad_();
    rotate_(kept, angles, pairs);
    EXPECT_TRUE(at::equal(kept, x));
    const at::NoGradGuard no_grad;
    const auto strided = x.transpose(1, 2).contiguous().transpose(1, 2), own = x.clone();
    EXPECT_LT(relative_difference(rotate_(strided, angles, pairs), expected), 2e-7);
    EXPECT_TRUE(at::equal(strided, x));
    EXPECT_TRUE(rotate_(own, angles, pairs).is_same(own));
    EXPECT_LT(relative_difference(own, expected), 2e-7);
  }
}

// The kernels and the forms that autograd differentiates.
TEST(Pointwise, KernelsEqualTheDifferentiableFormsOnEveryNumberOfThreads) {
  at::manual_seed(4);
  for (const int threads : {1, 2, 7})
    for (const int64_t width : {1, 15, 16, 100}) {
      const Threads count(threads);
      const auto x = at::randn({3, 999, width}), gain = at::randn({width}), up = at::randn({3, 999, width});
      const auto scaled = x * 40;  // far into both tails of the sigmoid
      EXPECT_LT(relative_difference(rms_norm(x, gain, 1e-5), rms_norm(wide(x), wide(gain), 1e-5)), 1e-6) << width;
      EXPECT_LT(relative_difference(swiglu(scaled, up), swiglu(wide(scaled), wide(up))), 1e-6) << width;
      const auto angles = rotary_angles(frequencies_of(8), 0, 999);
      const auto heads = at::randn({3, 999, 4, 16});
      EXPECT_LT(relative_difference(rotate_(heads.clone(), angles, RotaryPairs::halves),
                                    turned_pairs(wide(heads), angles, RotaryPairs::halves)),
                2e-7);
    }
}

}  // namespace
}  // namespace fwl
