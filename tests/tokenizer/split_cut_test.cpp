#include "tokenizer/split_cut.h"

#include <gtest/gtest.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <random>
#include <string>
#include <vector>

namespace fwl {
namespace {

constexpr const char* gpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* llama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* slash_after_lines =
    R"([^\r\n\p{L}\p{N}]?\p{L}+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* single_digits = R"(\p{N}|[^\p{N}]+)";

class Pattern {
 public:
  explicit Pattern(const char* text) {
    int error = 0;
    size_t at = 0;
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text), PCRE2_ZERO_TERMINATED,
                          PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &at, nullptr);
    match_ = pcre2_match_data_create_from_pattern(code_, nullptr);
  }
  ~Pattern() {
    pcre2_match_data_free(match_);
    pcre2_code_free(code_);
  }
  std::vector<std::string> split(const std::string& text) const {
    std::vector<std::string> pieces;
    size_t at = 0;
    while (at < text.size() &&
           pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at, 0, match_, nullptr) > 0) {
      const auto* span = pcre2_get_ovector_pointer(match_);
      if (span[0] > at) pieces.push_back(text.substr(at, span[0] - at));
      pieces.push_back(text.substr(span[0], span[1] - span[0]));
      at = span[1];
    }
    if (at < text.size()) pieces.push_back(text.substr(at));
    return pieces;
  }

 private:
  pcre2_code* code_;
  pcre2_match_data* match_;
};

std::vector<std::string> split_in_turn(const std::string& text, const std::vector<const Pattern*>& patterns) {
  std::vector<std::string> pieces = {text};
  for (const auto* pattern : patterns) {
    std::vector<std::string> finer;
    for (const auto& piece : pieces)
      for (auto& part : pattern->split(piece)) finer.push_back(std::move(part));
    pieces = std::move(finer);
  }
  return pieces;
}

std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> fragments = {
      "a",    "B",    "don't",    "'ll",  "'",      " ",      " ",      "  ",     "\n",     "\n",
      "\n\n", "\r\n", "\t",       "7",    "123",    "4567",   ".",      "/",      "...",    "é",
      "ß",    "中",   "文。",     "。",   "\u3000", "\u00a0", "\u0085", "\u2028", "\u200b", "\u0301",
      "🙂", "\xff", "\xe4\xb8", "\x80", "٣",      "—",      "word",   "\v"};
  std::string text;
  const auto count = 1 + random() % 14;
  for (size_t i = 0; i < count; ++i) text += fragments[random() % fragments.size()];
  return text;
}

void expect_every_cut_keeps_the_pieces(const std::string& text, const std::vector<const Pattern*>& patterns) {
  const auto whole = split_in_turn(text, patterns);
  for (size_t seen = 1; seen <= text.size(); ++seen) {
    const auto cut = last_split_cut(std::string_view(text).substr(0, seen));
    if (cut == 0) continue;
    ASSERT_LE(cut, seen);
    auto parts = split_in_turn(text.substr(0, cut), patterns);
    for (auto& part : split_in_turn(text.substr(cut), patterns)) parts.push_back(std::move(part));
    ASSERT_EQ(parts, whole) << "cut at " << cut << " in " << testing::PrintToString(text);
  }
}

TEST(SplitCut, TextBeforeAndAfterEveryCutSplitsAsTheWhole) {
  const Pattern first(gpt2), second(llama3), third(slash_after_lines), digits(single_digits);
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    const auto text = random_text(random);
    expect_every_cut_keeps_the_pieces(text, {&first});
    expect_every_cut_keeps_the_pieces(text, {&second});
    expect_every_cut_keeps_the_pieces(text, {&third});
    expect_every_cut_keeps_the_pieces(text, {&digits, &first});
  }
}

TEST(SplitCut, IsFoundCloseToTheEndOfOrdinaryText) {
  EXPECT_EQ(last_split_cut("The quick fox"), 9U);
  EXPECT_EQ(last_split_cut("one line\nanother"), 9U);
  EXPECT_EQ(last_split_cut("one line\nanother", true), 3U);
  EXPECT_EQ(last_split_cut("第一行。\n第二行"), 13U);
  EXPECT_EQ(last_split_cut("first\n\n  "), 0U);
  EXPECT_EQ(last_split_cut("unbroken"), 0U);
}

}  // namespace
}  // namespace fwl
