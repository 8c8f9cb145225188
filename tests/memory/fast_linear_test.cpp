#include "memory/fast_linear.h"

#include <gtest/gtest.h>

#include "engine/tensor_checks.h"

namespace fwl {
namespace {

FastLinearInput input_of(const std::vector<at::Tensor>& in) {
  return {in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7]};
}

// All three outputs in one tensor, so that one upstream reaches them all.
at::Tensor joined(const FastLinearOutput& out) {
  return at::cat({out.value.flatten(), out.matrix_sum.flatten(), out.bias_sum.flatten()});
}

// Sequences are cut over threads only where there are as many as threads: both sides of that, and both forms.
TEST(FastLinear, ChunkedFormAndItsGradientsAreTheDefinitionOnEveryNumberOfThreads) {
  at::manual_seed(1);
  for (const int64_t sequences : {1, 2, 5}) {
    const std::vector<at::Tensor> inputs = {at::randn({sequences, 37, 6}),
                                            at::randn({sequences, 37, 4}),
                                            at::randn({sequences, 37, 4}),
                                            at::randn({sequences, 37, 6}),
                                            at::randn({sequences, 4, 6}),
                                            at::randn({sequences, 6}),
                                            at::full({}, 0.02),
                                            at::full({}, 0.03)};
    const auto definition = [](const std::vector<at::Tensor>& in) {
      return joined(fast_linear_quadratic(input_of(in)));
    };
    const auto chunked = [](const std::vector<at::Tensor>& in) { return joined(fast_linear_chunked(input_of(in), 8)); };
    const auto upstream = at::randn({sequences * (37 * 6 + 4 * 6 + 6)});
    const auto expected = differentiate(definition, inputs, upstream, at::kDouble);
    for (const int threads : {1, 2, 3, 7})
      for (const auto& [type, tolerance] : {std::pair{at::kDouble, 1e-13}, {at::kFloat, 3e-6}}) {
        const Threads count(threads);
        const auto actual = differentiate(chunked, inputs, upstream, type);
        EXPECT_LT(relative_difference(actual.value, expected.value), tolerance) << sequences << " on " << threads;
        for (size_t index = 0; index < inputs.size(); ++index)
          EXPECT_LT(relative_difference(actual.gradients[index], expected.gradients[index]), tolerance)
              << sequences << " on " << threads << ", gradient " << index;
      }
  }
}

}  // namespace
}  // namespace fwl
