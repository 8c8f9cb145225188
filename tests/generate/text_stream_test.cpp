#include "generate/text_stream.h"

#include <gtest/gtest.h>

#include "tokenizer/byte_tokenizer.h"

namespace fwl {
namespace {

std::vector<std::string> pieces(const std::string& text, const std::vector<std::string>& stops) {
  const ByteTokenizer tokenizer;
  TextStream stream(tokenizer, {}, stops);
  std::vector<std::string> all;
  for (const auto id : tokenizer.encode(text)) {
    const auto piece = stream.push(id);
    if (!piece.empty()) all.push_back(piece);
    if (stream.is_stopped()) break;
  }
  const auto rest = stream.finish();
  if (!rest.empty()) all.push_back(rest);
  return all;
}

using Texts = std::vector<std::string>;

TEST(TextStream, GivesWholeCharacters) {
  EXPECT_EQ(pieces("aé€😀b", {}), (Texts{"a", "é", "€", "😀", "b"}));
}

TEST(TextStream, BrokenBytesAreNotHeldForever) {
  EXPECT_EQ(pieces("\x80z\xC3", {}), (Texts{"\x80", "z", "\xC3"}));
  EXPECT_EQ(pieces("\xF0\x9Fz", {}), (Texts{"\xF0\x9Fz"}));
}

TEST(TextStream, HoldsBackWhatMayBecomeAStopText) {
  EXPECT_EQ(pieces("one END two", {"END"}), (Texts{"o", "n", "e", " "}));
  EXPECT_EQ(pieces("EEND", {"END"}), (Texts{"E"}));
  EXPECT_EQ(pieces("an EN", {"END"}), (Texts{"a", "n", " ", "EN"}));
  EXPECT_EQ(pieces("a\nUser: b", {"\nUser:", "###"}), (Texts{"a"}));
}

TEST(TextStream, EmptyStopTextsDoNotStop) {
  EXPECT_EQ(pieces("ab", {""}), (Texts{"a", "b"}));
}

}  // namespace
}  // namespace fwl
