#include <gtest/gtest.h>

#include "fuzz/fuzz_run.h"
#include "fuzz/mutate.h"

namespace fwl {
namespace {

TEST(Fuzz, EveryReaderSurvivesMutatedFiles) {
  for (const auto& target : all_fuzz_targets()) {
    const auto result = fuzz(target, 3000, 1);
    EXPECT_EQ(result.failure, "") << target.name << ", input " << result.inputs - 1;
    EXPECT_GT(result.accepted, 0) << target.name << " accepts nothing: the mutations do not get past the first check";
    EXPECT_GT(result.rejected, 0) << target.name << " rejects nothing: the reader checks nothing";
    EXPECT_LT(result.slowest_seconds, 2.0) << target.name;
  }
}

TEST(Fuzz, EverySeedIsAValidFile) {
  for (const auto& target : all_fuzz_targets())
    for (const auto& seed : target.seeds) EXPECT_NO_THROW(target.run(seed)) << target.name;
}

TEST(Fuzz, MutationsRepeatAndDiffer) {
  const std::vector<std::string> seeds = {"{\"count\": 123}", std::string(100, 'x')};
  EXPECT_EQ(mutate(seeds, 7), mutate(seeds, 7));
  EXPECT_NE(mutate(seeds, 7), mutate(seeds, 8));
}

}  // namespace
}  // namespace fwl
