#include "tokenizer/marked_text.h"

#include <gtest/gtest.h>

namespace fwl {
namespace {

// Markup in brackets.
std::string shown(const MarkedText& text) {
  std::string result;
  size_t done = 0;
  for (const auto [start, end] : text.markup()) {
    result += text.text().substr(done, start - done) + "[" + text.text().substr(start, end - start) + "]";
    done = end;
  }
  return result + text.text().substr(done);
}

MarkedText sample() {
  auto text = MarkedText::all_markup("ab");
  text += MarkedText::plain("cd");
  return text += MarkedText::all_markup("ef");
}

TEST(MarkedText, PartsKeepTheirMarkup) {
  const auto text = sample();
  EXPECT_EQ(shown(text), "[ab]cd[ef]");
  const std::string_view all = text.text();
  EXPECT_EQ(shown(text.part(all.substr(1, 4))), "[b]cd[e]");
  EXPECT_EQ(shown(text.part(all.substr(2, 2))), "cd");
  EXPECT_EQ(shown(text.part(all.substr(4))), "[ef]");
  EXPECT_EQ(shown(text.part(all.substr(3, 0))), "");
}

TEST(MarkedText, TouchingMarkupIsOne) {
  auto text = sample();
  text += MarkedText::plain("");
  text += sample();
  EXPECT_EQ(shown(text), "[ab]cd[efab]cd[ef]");
}

TEST(MarkedText, WhatIsMadeFromAMixtureIsPlain) {
  EXPECT_EQ(shown(MarkedText::made_from(sample(), "AB")), "AB");
  EXPECT_EQ(shown(MarkedText::made_from(MarkedText::all_markup("ab"), "AB")), "[AB]");
}

TEST(MarkedText, IsMarkupOnlyInsideOneRange) {
  const auto text = sample();
  EXPECT_TRUE(is_markup(text.markup(), 0, 2));
  EXPECT_TRUE(is_markup(text.markup(), 5, 6));
  EXPECT_FALSE(is_markup(text.markup(), 1, 3));
  EXPECT_FALSE(is_markup(text.markup(), 1, 5));
  EXPECT_FALSE(is_markup({}, 0, 1));
}

}  // namespace
}  // namespace fwl
