#include "engine/softmax_columns.h"

#include <gtest/gtest.h>

#include "engine/tensor_checks.h"

namespace fwl {
namespace {

TEST(SoftmaxColumns, IsTheDefinitionAndTheSameOnEveryNumberOfThreads) {
  at::manual_seed(1);
  for (const int64_t words : {1, 255, 256, 700})
    for (const int64_t tokens : {1, 15, 16, 17, 100}) {
      const auto logits = at::randn({words, tokens}) * 9, bias = at::randn({words});
      const auto exact = wide(logits) + wide(bias).unsqueeze(1);
      at::Tensor probabilities_alone, log_sums_alone;
      for (const int threads : {1, 2, 7, 101}) {
        const Threads count(threads);
        auto probabilities = logits.clone();
        const auto log_sums = softmax_columns_(probabilities, bias);
        if (threads == 1) {
          probabilities_alone = probabilities;
          log_sums_alone = log_sums;
          EXPECT_LT(relative_difference(log_sums, at::logsumexp(exact, 0)), 2e-7) << words << " " << tokens;
          EXPECT_LT(relative_difference(probabilities, exact.softmax(0)), 2e-6) << words << " " << tokens;
        }
        EXPECT_LT(relative_difference(log_sums, log_sums_alone), 2e-7) << words << " " << tokens << " " << threads;
        EXPECT_LT(relative_difference(probabilities, probabilities_alone), 1e-6) << words << " " << tokens;
      }
    }
}

TEST(SoftmaxColumns, TheShiftedProductIsTheDefinitionOnEveryNumberOfThreads) {
  at::manual_seed(2);
  const auto q = at::randn({600, 90}), p = at::rand({600, 90}), shift = at::randn({90});
  for (const int threads : {1, 2, 7}) {
    const Threads count(threads);
    auto out = q.clone();
    multiply_shifted_columns_(out, p, shift);
    EXPECT_LT(relative_difference(out, wide(p) * (wide(q) + wide(shift))), 2e-7) << threads;
  }
}

}  // namespace
}  // namespace fwl
