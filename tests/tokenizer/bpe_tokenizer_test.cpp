#include "tokenizer/bpe_tokenizer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "support/error.h"
#include "tokenizer/bpe_json.h"
#include "tokenizer/bpe_samples.h"
#include "tokenizer/utf8.h"

namespace fwl {
namespace {

BpeTokenizer open(const nlohmann::json& root) {
  return BpeTokenizer("test", parse_tokenizer_json("test", root.dump()));
}

std::vector<TokenId> ids(std::initializer_list<TokenId> list) {
  return list;
}

std::string random_bytes(std::mt19937& random, size_t count, bool is_ascii) {
  constexpr std::string_view letters = "the in aaaa\n\t 's'LL12";
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += is_ascii ? letters[random() % letters.size()] : static_cast<char>(random() % 256);
  return text;
}

std::string random_unicode(std::mt19937& random, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    const auto point = random() % 4 ? random() % 0x3000 : random() % 0x110000;
    if (point < 0xD800 || point > 0xDFFF) append_utf8(static_cast<char32_t>(point), text);
  }
  return text;
}

TEST(BpeTokenizer, MergesInTheOrderInWhichTheyWereLearned) {
  const auto tokenizer = open(sample_tokenizer_json());
  EXPECT_EQ(tokenizer.encode("the the in"), ids({257, 258, ' ', 259}));
  EXPECT_EQ(tokenizer.encode("aaaaaaa"), ids({261, 260, 'a'}));
  EXPECT_EQ(tokenizer.encode(""), ids({}));
  EXPECT_EQ(tokenizer.vocabulary_size(), 263);
}

TEST(BpeTokenizer, FindsAddedTokensBeforeItSplits) {
  const auto tokenizer = open(sample_tokenizer_json());
  EXPECT_EQ(tokenizer.encode(MarkedText::all_markup("in<|endoftext|>the<|endoftext")), [&] {
    auto expected = ids({259, 262, 257});
    tokenizer.encode("<|endoftext", expected);
    return expected;
  }());
  EXPECT_EQ(tokenizer.decode(ids({262, 257})), "<|endoftext|>the");
}

TEST(BpeTokenizer, PlainTextNeverBecomesAControlToken) {
  auto root = sample_tokenizer_json();
  root["model"]["ignore_merges"] = true;  // a piece that is a token becomes that token
  root["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const std::string text = "<|endoftext|>";
  const std::vector<TokenId> spelled(text.begin(), text.end());
  EXPECT_EQ(open(root).encode(text), spelled);
  root["added_tokens"][0]["special"] = false;  // as some files have it
  EXPECT_EQ(open(root).encode(text), spelled);
  root["normalizer"] = {{"type", "NFC"}};
  EXPECT_EQ(open(root).encode(text), spelled);
}

TEST(BpeTokenizer, ControlTokensAreFoundOnlyWhereAllOfThemIsMarkup) {
  auto root = sample_tokenizer_json();
  for (const bool is_normalized : {false, true}) {
    root["added_tokens"][0]["normalized"] = is_normalized;
    root["normalizer"] = is_normalized ? nlohmann::json{{"type", "NFC"}} : nlohmann::json();
    const auto tokenizer = open(root);
    auto text = MarkedText::all_markup("in<|endoftext|>");
    text += MarkedText::plain("e\u0301<|endoftext|><|end");
    text += MarkedText::all_markup("oftext|>in<|endoftext|>");
    auto expected = ids({259, 262});
    tokenizer.encode("e\u0301<|endoftext|><|endoftext|>in", expected);
    expected.push_back(262);
    EXPECT_EQ(tokenizer.encode(text), expected);
  }
}

TEST(BpeTokenizer, EveryByteStringComesBack) {
  std::mt19937 random(1);
  for (const auto* pattern : {"gpt-2", "smollm", "llama-bpe", "qwen2", "gpt-4o"}) {
    auto vocabulary = parse_tokenizer_json("test", sample_tokenizer_json().dump());
    vocabulary.splits = published_split("test", pattern);
    const BpeTokenizer tokenizer("test", vocabulary);
    EXPECT_TRUE(tokenizer.is_lossless());
    for (int i = 0; i < 300; ++i) {
      const auto text = random_bytes(random, random() % 200, false) + random_unicode(random, random() % 50) +
                        random_bytes(random, random() % 200, true);
      ASSERT_EQ(tokenizer.decode(tokenizer.encode(text)), text) << pattern;
    }
  }
}

TEST(BpeTokenizer, ManyThreadsGetTheSameIds) {
  const auto tokenizer = open(sample_tokenizer_json());
  std::mt19937 random(2);
  const auto text = random_unicode(random, 20000);
  const auto expected = tokenizer.encode(text);
  std::vector<std::thread> threads;
  std::vector<std::vector<TokenId>> results(4);
  for (auto& result : results)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) result = tokenizer.encode(text);
    });
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

TEST(BpeTokenizer, AMegabyteOfOneLetterTakesNoSquareOfItsLength) {
  const auto tokenizer = open(sample_tokenizer_json());
  const auto start = std::chrono::steady_clock::now();
  for (const char letter : {'a', ' ', '\n', '\xFF', '\'', '<'}) {
    const std::string text(1 << 20, letter);
    ASSERT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(BpeTokenizer, WithIgnoreMergesAPieceThatIsATokenStaysWhole) {
  auto root = sample_tokenizer_json();
  root["model"]["vocab"]["inthe"] = 263;
  EXPECT_EQ(open(root).encode("inthe"), ids({259, 257}));
  root["model"]["ignore_merges"] = true;
  EXPECT_EQ(open(root).encode("inthe"), ids({263}));
}

TEST(BpeTokenizer, LeavesOutBytesWithoutATokenOrMakesThemUnknown) {
  auto root = sample_tokenizer_json();
  root["model"]["vocab"].erase("b");
  EXPECT_EQ(open(root).encode("abba"), ids({260}));
  EXPECT_EQ(open(root).missing_bytes(), "b");
  EXPECT_FALSE(open(root).is_lossless());
  root["model"]["unk_token"] = "th";
  EXPECT_EQ(open(root).encode("abba"), ids({'a', 256, 256, 'a'}));
  root["model"]["fuse_unk"] = true;
  EXPECT_EQ(open(root).encode("abba"), ids({'a', 256, 'a'}));
}

TEST(BpeTokenizer, NormalizesWhereTheVocabularyAsksForIt) {
  auto root = sample_tokenizer_json();
  const std::string decomposed = "e\xCC\x81 \xFF", composed = "\xC3\xA9 \xFF";
  EXPECT_EQ(open(root).decode(open(root).encode(decomposed)), decomposed);
  root["normalizer"] = {{"type", "NFC"}};
  EXPECT_EQ(open(root).decode(open(root).encode(decomposed)), composed);
}

TEST(BpeTokenizer, EqualHashesMeanEqualIds) {
  auto root = sample_tokenizer_json();
  const auto first = open(root).hash();
  EXPECT_EQ(open(root).hash(), first);
  root["model"]["merges"] = {"t h", "th e", "Ġ the", "a a", "i n", "aa aa"};
  EXPECT_NE(open(root).hash(), first);
}

TEST(BpeTokenizer, RefusesIdsThatItDoesNotHave) {
  const auto tokenizer = open(sample_tokenizer_json());
  EXPECT_THROW(tokenizer.decode(ids({263})), UserError);
  EXPECT_THROW(tokenizer.decode(ids({-1})), UserError);
}

}  // namespace
}  // namespace fwl
