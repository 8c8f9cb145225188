#include <gtest/gtest.h>

#include <cmath>

#include "fuzz/mutate.h"
#include "report/axis.h"
#include "report/evaluation_result.h"
#include "report/html.h"
#include "report/training_run.h"
#include "support/error.h"

namespace fwl {
namespace {

constexpr const char* sample_result =
    R"({"model":"m","data_hash":"0","methods":[{"method":"static","tokens":9,"nll":1.5,"perplexity":null},)"
    R"({"method":"fwl","tokens":9,"nll":1.25,"difference":{"nll":-0.25,"low":-0.5,"high":0.0}}]})";

constexpr const char* sample_record =
    R"({"event":"start","step":0,"config":{"objective":{"name":"fwl"},"run":{"seed":3,"steps":9}},)"
    R"("data":{"train":{"path":"it's.tokens","hash":"ab","tokens":7}},"environment":{"fwl":"0.1.0","threads":2}})"
    "\n"
    R"({"event":"step","step":1,"loss":2.5,"tokens_per_second":10,"step_sizes":{"step U":0.5}})"
    "\n"
    R"({"event":"step","step":2,"loss":null})"
    "\n"
    R"({"event":"valid","step":2,"loss":2.25,"slow":2.5})"
    "\n"
    R"({"event":"st)";

TEST(ReportInput, ReadsWhatIsFiniteAndLeavesOutALineThatWasCutOff) {
  const auto result = parse_result("a.json", sample_result);
  ASSERT_EQ(result.methods.size(), 2U);
  EXPECT_TRUE(std::isnan(result.methods[0].perplexity));
  EXPECT_EQ(result.methods[1].difference->low, -0.5);
  const auto run = parse_record("record.jsonl", sample_record);
  EXPECT_EQ(run.losses.size(), 1U);
  EXPECT_EQ(run.validations.front().y, 2.25);
  EXPECT_EQ(run.settings, "\n[objective]\nname = \"fwl\"\n\n[run]\nseed = 3\nsteps = 9\n");
}

TEST(ReportInput, DamagedFilesAreUserErrorsOrRead) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const auto bytes = mutate({sample_result, sample_record}, seed);
    try {
      (void)parse_result("a.json", bytes);
    } catch (const UserError&) {
    }
    try {
      const auto run = parse_record("record.jsonl", bytes);
      (void)run.command();
      for (const bool is_log : {false, true})
        for (const auto& point : run.losses) (void)Axis::rounded(point.y, 2 * point.y, is_log).ticks();
    } catch (const UserError&) {
    }
  }
}

TEST(Html, EscapesMarkupAndReplacesWhatIsNoText) {
  EXPECT_EQ(escape_html("<a href=\"x\">&'é\n"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;é\n");
  EXPECT_EQ(escape_html(std::string_view("\xC3\0\x1B\xC2\x85", 5)), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(shown_count(-1234567), "-1,234,567");
  EXPECT_EQ(shown_signed(-0.00001, 4), "+0.0000");
}

TEST(Axis, TicksAreRoundAndCoverTheRange) {
  const auto axis = Axis::rounded(0.13, 0.92);
  EXPECT_LE(axis.low(), 0.13);
  EXPECT_GE(axis.high(), 0.92);
  EXPECT_EQ(axis.ticks().front().label, "0");
  for (const double extreme : {0.0, 1e-300, 1e300, -1e308}) {
    const auto ticks = Axis::rounded(-extreme, extreme).ticks();
    EXPECT_GE(ticks.size(), 2U);
    EXPECT_LE(ticks.size(), 12U);
  }
}

}  // namespace
}  // namespace fwl
