// Differences of two methods from all losses, and from what results keep of them.
#include "evaluate/nll_series.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/evaluation_result.h"
#include "support/error.h"

namespace fwl {
namespace {

NllSeries series_of(size_t tokens, double height) {
  NllSeries series{"method", {}, {}, 0, 0};
  for (size_t index = 0; index < tokens; ++index) {
    series.targets.push_back(static_cast<int64_t>(index));
    series.nll.push_back(static_cast<float>(3 + height * std::sin(0.37 * static_cast<double>(index * index))));
  }
  return series;
}

MethodResult result_of(const NllSeries& series) {
  MethodResult result;
  for (const float loss : series.nll) result.nll += loss / static_cast<double>(series.nll.size());
  result.tokens = static_cast<int64_t>(series.nll.size());
  result.nll_by_block = block_means(series);
  return result;
}

TEST(NllSeries, BlocksAreWholeUnlessThereIsOnlyOne) {
  EXPECT_EQ(block_means(series_of(100, 1)).size(), 1u);
  EXPECT_EQ(block_means(series_of(256, 1)).size(), 1u);
  EXPECT_EQ(block_means(series_of(600, 1)).size(), 2u);
}

TEST(NllSeries, TheDifferenceOfResultsIsThatOfTheirLosses) {
  const auto a = series_of(1500, 0.5), b = series_of(1500, 0.9);
  const auto all = compare(a, b);
  const auto kept = paired_difference(result_of(a), result_of(b));
  ASSERT_TRUE(kept && kept->low && kept->high);
  EXPECT_NEAR(kept->mean, all.mean, 1e-12);
  EXPECT_NEAR(*kept->low, all.low, 1e-12);
  EXPECT_NEAR(*kept->high, all.high, 1e-12);
  EXPECT_LT(all.low, all.mean);
}

TEST(NllSeries, WithoutASpreadThereIsNoInterval) {
  const auto kept = paired_difference(result_of(series_of(300, 0.5)), result_of(series_of(300, 0.9)));
  ASSERT_TRUE(kept);
  EXPECT_FALSE(kept->low || kept->high);
  EXPECT_FALSE(paired_difference(result_of(series_of(600, 1)), result_of(series_of(900, 1))));
  EXPECT_THROW(compare(series_of(600, 1), series_of(900, 1)), UserError);
}

}  // namespace
}  // namespace fwl
