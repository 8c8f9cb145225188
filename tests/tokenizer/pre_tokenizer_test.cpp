#include "tokenizer/pre_tokenizer.h"

#include <gtest/gtest.h>

#include "support/error.h"
#include "tokenizer/pattern_dialect.h"

namespace fwl {
namespace {

std::vector<std::string> pieces(const std::vector<SplitStep>& steps, std::string_view text) {
  const PreTokenizer splitter("test", steps);
  SplitPattern::Workspace workspace;
  std::vector<std::string> result;
  splitter.split(text, workspace, [&](std::string_view piece) { result.emplace_back(piece); });
  return result;
}

using Pieces = std::vector<std::string>;

TEST(PreTokenizer, SplitsAsPublished) {
  const auto split = [](const char* name, std::string_view text) {
    return pieces(published_split("test", name), text);
  };
  EXPECT_EQ(split("gpt-2", "I'll pay  123.45\n\n x"),
            (Pieces{"I", "'ll", " pay", " ", " 123", ".", "45", "\n\n", " x"}));
  EXPECT_EQ(split("smollm", "pay  12 x"), (Pieces{"pay", "  ", "1", "2", " x"}));
  EXPECT_EQ(split("llama-bpe", "I'LL pay 1234!!\n\n x"), (Pieces{"I", "'LL", " pay", " ", "123", "4", "!!\n\n", " x"}));
  EXPECT_EQ(split("qwen2", "a 12"), (Pieces{"a", " ", "1", "2"}));
  EXPECT_EQ(split("gpt-4o", "HelloWorld's"), (Pieces{"Hello", "World's"}));
  EXPECT_THROW(published_split("test", "gpt-1"), UserError);
}

TEST(PreTokenizer, KnowsLettersAndWhiteSpaceOfUnicode16) {
  const auto gpt2 = published_split("test", "gpt-2");
  EXPECT_EQ(pieces(gpt2, "a\u1C89b"), (Pieces{"a\u1C89b"}));              // a letter since Unicode 16
  EXPECT_EQ(pieces(gpt2, "a\u180Eb"), (Pieces{"a", "\u180E", "b"}));      // no white space since Unicode 6.3
  EXPECT_EQ(pieces(gpt2, "a \u0085 b"), (Pieces{"a", " \u0085", " b"}));  // white space
}

TEST(PreTokenizer, AddsASpaceOrDropsWhatLiesBetweenMatchesIfAsked) {
  EXPECT_EQ(pieces({{.pattern = "b", .adds_space = true}}, "abc"), (Pieces{" a", "b", "c"}));
  EXPECT_EQ(pieces({{.pattern = "[ab]", .drops_between = true}}, "abcb"), (Pieces{"a", "b", "b"}));
  EXPECT_EQ(pieces({{.pattern = ".", .is_literal = true}}, "a.b"), (Pieces{"a", ".", "b"}));
  EXPECT_EQ(pieces({{.pattern = "x*"}}, "axxb"), (Pieces{"a", "xx", "b"}));
}

TEST(SplitPattern, HostilePatternsAreErrorsAndNotHangs) {
  for (const auto* pattern : {"(", "[a[b]]", "[a&&b]", R"(\h)", R"(\C)", R"(\p{Nix})", "a{99999}", "[", R"(\)"})
    EXPECT_THROW(SplitPattern("test", pattern), UserError) << pattern;
  const SplitPattern slow("test", "(a+)+[bc]");
  SplitPattern::Workspace workspace;
  SplitPattern::Match match;
  EXPECT_THROW(slow.find(std::string(100, 'a'), 0, match, workspace), UserError);
}

TEST(PatternDialect, ReplacesOnlyWhatDiffers) {
  EXPECT_EQ(pattern_for_pcre2("test", R"( ?[^a-z]+|\n|\p{Lt}|[]x])"), R"( ?[^a-z]+|\n|\p{Lt}|[]x])");
  EXPECT_TRUE(pattern_for_pcre2("test", R"([^\s])").starts_with(R"([^\x09-\x0D)"));
  EXPECT_TRUE(pattern_for_pcre2("test", R"(\S)").starts_with(R"([^\x09-\x0D)"));
  EXPECT_TRUE(pattern_for_pcre2("test", R"(\p{N})").starts_with(R"([\p{N}\x{10D40})"));
}

}  // namespace
}  // namespace fwl
