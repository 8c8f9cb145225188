#include <random>

#include "data/tokenize.h"
#include "support/scratch.h"
#include "tokenizer/bpe_json.h"
#include "tokenizer/bpe_samples.h"
#include "tokenizer/bpe_tokenizer.h"
#include "tokenizer/pre_tokenizer.h"

namespace fwl {
namespace {

// A vocabulary whose merges show where pieces of white space, words and line ends begin and end.
BpeVocabulary telling_vocabulary(const std::string& split) {
  auto root = sample_tokenizer_json();
  auto& vocab = root["model"]["vocab"];
  int next = 262;
  for (const auto* token : {"ĊĊ", "ĠĠ", "ĠĊ", ".Ċ", "..", "Ġa", "aĠ", "12", "Ċa", ".Ġ", "Ġ.", "Ċ/"}) {
    vocab[token] = next++;
    const auto name = std::string(token);
    const size_t first = static_cast<unsigned char>(name[0]) < 0x80 ? 1 : 2;
    root["model"]["merges"].push_back(name.substr(0, first) + " " + name.substr(first));
  }
  root["added_tokens"][0]["id"] = next;
  auto vocabulary = parse_tokenizer_json("sample", root.dump());
  vocabulary.splits = published_split("sample", split);
  return vocabulary;
}

std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> fragments = {
      "a", "the", " ",  " ",  "  ",     "\n",     "\n",   "\n\n", "\r\n",          "\t",  "12", "7", ".", "..",
      "/", "é",   "中", "。", "\u3000", "\u00a0", "🙂", "\xff", "<|endoftext|>", "'ll", "aa"};
  std::string text;
  for (int i = 0; i < 400; ++i) text += fragments[random() % fragments.size()];
  return text;
}

TEST(BpeTokenizer, CorporaHaveTheSameIdsForEveryBlockSize) {
  const auto folder = fresh_folder("bpe_cut");
  std::mt19937 random(3);
  for (const auto* split : {"gpt-2", "smollm", "llama3", "qwen2", "gpt-4o"}) {
    const BpeTokenizer tokenizer("sample", telling_vocabulary(split));
    TokenizeOptions options;
    for (int round = 0; round < 3; ++round) {
      const auto text = random_text(random);
      options.corpus.inputs = {write_text(folder + "/a", text)};
      options.out = folder + "/out.tokens";
      const auto whole = tokenize_corpus(tokenizer, options);
      EXPECT_EQ(whole.tokens, static_cast<int64_t>(tokenizer.encode(text).size()));
      for (const size_t block_bytes : {1, 3, 17, 100}) {
        auto cut = options;
        cut.corpus.block_bytes = block_bytes;
        EXPECT_EQ(tokenize_corpus(tokenizer, cut).ids_hash, whole.ids_hash) << split << " in blocks of " << block_bytes;
      }
    }
  }
}

TEST(BpeTokenizer, KnowsNoPlaceToCutWhereThePatternOrAnAddedTokenForbidsIt) {
  const std::string text = "some words\nof text";
  const auto cut_with = [&](auto change) {
    auto vocabulary = telling_vocabulary("gpt-2");
    change(vocabulary);
    return BpeTokenizer("sample", vocabulary).safe_cut(text);
  };
  EXPECT_EQ(cut_with([](auto&) {}), 13U);
  EXPECT_EQ(cut_with([](auto& vocabulary) { vocabulary.splits[0].pattern = R"(\w+\s)"; }), 0U);
  EXPECT_EQ(cut_with([](auto& vocabulary) { vocabulary.added[0].takes_space_behind = true; }), 0U);
  EXPECT_EQ(cut_with([](auto& vocabulary) { vocabulary.fuses_unknown = true; }), 0U);
  const std::string only_a_line_end = "words\nof";
  auto vocabulary = telling_vocabulary("gpt-2");
  EXPECT_EQ(BpeTokenizer("sample", vocabulary).safe_cut(only_a_line_end), 6U);
  vocabulary.splits[0].adds_space = true;
  EXPECT_EQ(BpeTokenizer("sample", vocabulary).safe_cut(only_a_line_end), 0U);
}

}  // namespace
}  // namespace fwl
