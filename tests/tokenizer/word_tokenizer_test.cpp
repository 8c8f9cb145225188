#include "tokenizer/word_tokenizer.h"

#include <gtest/gtest.h>

#include "files/atomic_file.h"
#include "support/error.h"
#include "support/message_of.h"

namespace fwl {
namespace {

std::string text_file(const std::string& name, const std::string& text) {
  const auto path = testing::TempDir() + name;
  write_file_atomically(path, text);
  return path;
}

std::vector<std::string> order_of(const std::vector<WordCount>& words) {
  std::vector<std::string> order;
  for (const auto& entry : words) order.push_back(entry.word);
  return order;
}

TEST(WordVocabulary, IsOrderedByFrequencyWithTiesInOrderOfFirstOccurrence) {
  const auto first = text_file("words_a.txt", " = b a = \n\n b c\n"), second = text_file("words_b.txt", "c\td\n");
  EXPECT_EQ(order_of(count_words({first, second})), (std::vector<std::string>{"<eos>", "=", "b", "c", "a", "d"}));
  EXPECT_EQ(count_words({first, second}).front().count, 4);
}

TEST(WordVocabulary, EosCanBePinnedToTheFirstPlace) {
  const auto path = text_file("words_eos.txt", "a a b b\n");
  EXPECT_EQ(order_of(count_words({path})), (std::vector<std::string>{"a", "b", "<eos>"}));
  EXPECT_EQ(order_of(count_words({path}, {.is_eos_first = true})), (std::vector<std::string>{"<eos>", "a", "b"}));
}

TEST(WordVocabulary, RareWordsAreCountedAsUnknown) {
  const auto words = count_words({text_file("words_rare.txt", "a a b c\n")}, {.min_count = 2});
  EXPECT_EQ(order_of(words), (std::vector<std::string>{"a", "<unk>", "<eos>"}));
  EXPECT_EQ(words[1].count, 2);
}

TEST(WordVocabulary, SavesAndLoadsTheSameWordsAndCounts) {
  const auto words = count_words({text_file("words_save.txt", "é a a\n\xFF z\n")});
  const auto path = testing::TempDir() + "saved.vocab";
  save_word_vocabulary(path, words);
  const WordTokenizer first("first", words), second(path, load_word_vocabulary(path));
  EXPECT_EQ(order_of(second.words()), order_of(words));
  EXPECT_EQ(second.words()[0].count, words[0].count);
  EXPECT_EQ(first.hash(), second.hash());
  EXPECT_EQ(open_tokenizer(path)->kind(), "word");
}

TEST(WordVocabulary, BrokenFilesAreErrorsThatNameTheLine) {
  const auto load = [](const std::string& text) {
    const auto path = text_file("broken.vocab", text);
    return message_of([&] { WordTokenizer("broken.vocab", load_word_vocabulary(path)); });
  };
  EXPECT_NE(load("a\t1\nb\n").find("broken.vocab:2: expected word, tab, count, got 'b'"), std::string::npos);
  EXPECT_NE(load("a\t-1\n").find(":1: expected word, tab, count"), std::string::npos);
  EXPECT_EQ(load("<eos>\t3\na\t1\na\t1\n"), "broken.vocab:3: expected every word once, got 'a' again after line 2");
  EXPECT_EQ(load("<eos>\t3\na b\t1\n"), "broken.vocab:2: expected a word without white space, got 'a b'");
  EXPECT_EQ(load("<eos>\t3\n\t1\n"), "broken.vocab:2: expected a word, got nothing");
  EXPECT_NE(load("").find("expected <eos>, the end of a line"), std::string::npos);
}

TEST(WordTokenizer, GivesOneEosPerLineBlankLinesIncluded) {
  const WordTokenizer tokenizer("test", {{"<eos>", 3}, {"a", 2}, {"b", 1}});
  EXPECT_EQ(tokenizer.encode(" a  b \n\n\ta"), (std::vector<TokenId>{1, 2, 0, 0, 1}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a b\n\na")), "a b\n\na");
}

TEST(WordTokenizer, UnknownWordsBecomeUnkOrAnErrorThatNamesWordAndLine) {
  const WordTokenizer with("with", {{"<eos>", 1}, {"<unk>", 1}}), without("without", {{"<eos>", 1}, {"a", 1}});
  EXPECT_EQ(with.encode("new <unk>"), (std::vector<TokenId>{1, 1}));
  EXPECT_EQ(message_of([&] { without.encode("a\na new\n"); }).find("without: line 2 of the text: expected a word of "),
            0);
  EXPECT_NE(message_of([&] { without.encode("a\na new\n"); }).find("got 'new'"), std::string::npos);
  EXPECT_THROW(with.decode(std::vector<TokenId>{2}), UserError);
  EXPECT_THROW(with.decode(std::vector<TokenId>{-1}), UserError);
}

}  // namespace
}  // namespace fwl
