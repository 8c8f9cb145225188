#include "tokenizer/added_tokens.h"

#include <gtest/gtest.h>

namespace fwl {
namespace {

// "text|<id>|text": what is between and what was found.
std::string split(const std::vector<AddedToken>& tokens, std::string_view text) {
  AddedTokenFinder finder;
  for (const auto& token : tokens) finder.add(token);
  const auto all = MarkedText::all_markup(std::string(text));
  const std::string where = "t";
  EncodeBudget budget(where, text.size());
  std::string result;
  finder.split(
      all.text(), all.markup(), budget, [&](std::string_view rest) { result += "|" + std::string(rest); },
      [&](TokenId id) { result += "|<" + std::to_string(id) + ">"; });
  return result;
}

TEST(AddedTokens, TheLeftmostAndThereTheLongestIsFound) {
  const std::vector<AddedToken> tokens = {{1, "<a>"}, {2, "<a><b>"}, {3, "b"}};
  EXPECT_EQ(split(tokens, "x<a>y<a><b>b"), "|x|<1>|y|<2>|<3>");
  EXPECT_EQ(split(tokens, "<a"), "|<a");
  EXPECT_EQ(split(tokens, ""), "");
}

TEST(AddedTokens, SingleWordsAreNotFoundInsideOthers) {
  const std::vector<AddedToken> tokens = {{.id = 1, .content = "cat", .is_single_word = true}};
  EXPECT_EQ(split(tokens, "cat concat cat. \u00E9cat"), "|<1>| concat |<1>|. \u00E9cat");
}

TEST(AddedTokens, TakeWhiteSpaceIfAsked) {
  const std::vector<AddedToken> tokens = {{.id = 1, .content = "<m>", .takes_space_before = true},
                                          {.id = 2, .content = "<n>", .takes_space_behind = true}};
  EXPECT_EQ(split(tokens, "a \u3000<m> b"), "|a|<1>| b");
  EXPECT_EQ(split(tokens, "a <n> \n b<n> <m>"), "|a |<2>|b|<2>|<1>");
}

}  // namespace
}  // namespace fwl
