#include "support/process.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace fwl {
namespace {

TEST(Process, GivesBackOutputExitCodeAndUsesTheAddedEnvironment) {
  const auto result =
      run_process({"sh", "-c", "echo \"$GREETING\"; echo problem >&2; exit 3"}, {{{"GREETING", "hello"}}, {}});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.output, "hello\nproblem\n");
  EXPECT_EQ(last_words(result.output + "\n \n"), "problem");
}

TEST(Process, AProgramThatDoesNotExistIsExitCode127) {
  EXPECT_EQ(run_process({"/nowhere/at/all"}).exit_code, 127);
}

TEST(Process, KeepsOnlyTheEndOfLongOutput) {
  const auto result = run_process({"sh", "-c", "yes | head -n 100000; echo end"});
  EXPECT_LT(result.output.size(), 20000U);
  EXPECT_EQ(last_words(result.output), "end");
}

TEST(Process, GivingUpEndsTheProgram) {
  const auto give_up = [] { throw std::runtime_error("enough"); };
  EXPECT_THROW(run_process({"sleep", "1000"}, {{}, give_up}), std::runtime_error);
}

}  // namespace
}  // namespace fwl
