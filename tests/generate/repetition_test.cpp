#include "generate/repetition.h"

#include <gtest/gtest.h>

#include <vector>

namespace fwl {
namespace {

TEST(Repetition, CountsDistinctRunsOfTokens) {
  const std::vector<int64_t> tokens = {1, 2, 3, 4, 1, 2, 3, 4, 5};
  const auto result = repetition(tokens);
  EXPECT_DOUBLE_EQ(result.distinct[0], 5.0 / 9);
  EXPECT_DOUBLE_EQ(result.distinct[1], 5.0 / 8);
  EXPECT_DOUBLE_EQ(result.distinct[3], 5.0 / 6);
  EXPECT_DOUBLE_EQ(result.repeated_4_grams(), 1.0 / 6);
}

TEST(Repetition, ShortTextsDoNotRepeat) {
  const std::vector<int64_t> two = {7, 7};
  EXPECT_DOUBLE_EQ(repetition(two).distinct[0], 0.5);
  EXPECT_DOUBLE_EQ(repetition(two).repeated_4_grams(), 0);
  EXPECT_DOUBLE_EQ(repetition({}).distinct[0], 1);
}

}  // namespace
}  // namespace fwl
