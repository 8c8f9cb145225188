#include "tokenizer/bpe_json.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "files/atomic_file.h"
#include "support/error.h"
#include "tokenizer/bpe_samples.h"

namespace fwl {
namespace {

std::string error_of(const std::string& json) {
  try {
    BpeTokenizer("t", parse_tokenizer_json("t", json));
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

// The error after a change to a vocabulary that was fine.
template <class Change>
std::string error_after(Change change) {
  auto root = sample_tokenizer_json();
  change(root);
  return error_of(root.dump());
}

using Json = nlohmann::json;

TEST(TokenizerJson, TheSampleIsFine) {
  EXPECT_EQ(error_of(sample_tokenizer_json().dump()), "no error");
}

TEST(TokenizerJson, ContradictionsAreOneClearError) {
  EXPECT_EQ(error_after([](Json& root) { root["model"]["vocab"]["th"] = 7; }),
            "t: token 'ć': expected an id of its own, got 7, which is 'th'");
  EXPECT_EQ(error_after([](Json& root) { root["model"]["vocab"]["th"] = -1; }),
            "t: token 'th': expected an id below 66062, got -1");
  EXPECT_EQ(error_after([](Json& root) { root["model"]["vocab"]["th"] = 4000000000U; }),
            "t: token 'th': expected an id below 66062, got 4000000000");
  EXPECT_EQ(error_after([](Json& root) { root["model"]["vocab"]["th"] = "x"; }),
            "t: token 'th': expected an id below 66062, got string");
  EXPECT_EQ(error_after([](Json& root) { root["model"]["merges"].push_back("t h"); }),
            "t: merge 7: expected every merge once, got 't h' again");
  EXPECT_EQ(error_after([](Json& root) { root["model"]["merges"].push_back("t x"); }),
            "t: merge 7: expected a token of the vocabulary, got 'tx'");
  EXPECT_EQ(error_after([](Json& root) { root["model"]["merges"].push_back("tx"); }),
            "t: merge 7: expected two tokens separated by a space, got 'tx'");
  EXPECT_EQ(error_after([](Json& root) { root["model"]["merges"].push_back(7); }),
            "t: merge 7: expected two tokens, got number");
  EXPECT_EQ(error_after([](Json& root) { root["added_tokens"][0]["id"] = 5; }),
            "t: token '<|endoftext|>': expected an id of its own, got 5, which is 'ą'");
  EXPECT_EQ(error_after([](Json& root) { root["added_tokens"][0]["content"] = ""; }),
            "t: added_tokens: expected a token with content, got an empty one");
  EXPECT_EQ(error_after([](Json& root) { root["model"]["unk_token"] = "nix"; }),
            "t: unk_token: expected a token of the vocabulary, got 'nix'");
  EXPECT_EQ(error_after([](Json& root) { root.erase("model"); }), "t: expected the field model, got none");
}

TEST(TokenizerJson, WhatIsNotByteLevelBpeIsRefused) {
  EXPECT_NE(error_after([](Json& root) { root["model"]["type"] = "WordPiece"; }).find("BPE or Unigram, got WordPiece"),
            std::string::npos);
  EXPECT_NE(error_after([](Json& root) {
              root["normalizer"] = {{"type", "Lowercase"}};
            }).find("expected none or NFC"),
            std::string::npos);
  EXPECT_NE(error_after([](Json& root) {
              root["pre_tokenizer"] = {{"type", "Metaspace"}};
            }).find("got Metaspace"),
            std::string::npos);
  EXPECT_NE(error_after([](Json& root) { root["pre_tokenizer"] = nullptr; }).find("a ByteLevel step"),
            std::string::npos);
}

TEST(TokenizerJson, BrokenTextIsRefused) {
  EXPECT_NE(error_of("{"), "no error");
  EXPECT_NE(error_of("[]"), "no error");
  EXPECT_NE(error_of(""), "no error");
  EXPECT_NE(error_of("\xFF\xFE"), "no error");
  EXPECT_NE(error_of(std::string(1 << 16, '[')), "no error");
  std::string deep(1 << 16, '[');
  deep += std::string(1 << 16, ']');
  for (const auto* field : {"normalizer", "pre_tokenizer", "added_tokens", "model"})
    EXPECT_NE(error_of("{\"" + std::string(field) + "\": " + deep + "}"), "no error") << field;
}

TEST(TokenizerJson, MergesComeAsTextsOrAsPairs) {
  auto root = sample_tokenizer_json();
  auto pairs = Json::array();
  for (const auto* left_right : {"t h", "th e", "Ġ the", "i n", "a a", "aa aa"}) {
    const std::string merge = left_right;
    const auto space = merge.find(' ');
    pairs.push_back({merge.substr(0, space), merge.substr(space + 1)});
  }
  auto with_pairs = root;
  with_pairs["model"]["merges"] = pairs;
  EXPECT_EQ(BpeTokenizer("t", parse_tokenizer_json("t", root.dump())).hash(),
            BpeTokenizer("t", parse_tokenizer_json("t", with_pairs.dump())).hash());
}

TEST(OpenTokenizer, FindsAVocabularyInAFolderInEitherForm) {
  namespace fs = std::filesystem;
  const auto json_folder = testing::TempDir() + "bpe_json", pair_folder = testing::TempDir() + "bpe_pair";
  fs::remove_all(json_folder);
  fs::create_directories(json_folder);
  fs::create_directories(pair_folder);
  const auto root = sample_tokenizer_json();
  write_file_atomically(json_folder + "/tokenizer.json", root.dump());
  auto vocab = root["model"]["vocab"];
  vocab["<|endoftext|>"] = 262;
  write_file_atomically(pair_folder + "/vocab.json", vocab.dump());
  write_file_atomically(pair_folder + "/merges.txt", "#version: 0.2\nt h\nth e\r\nĠ the\ni n\na a\naa aa\n");
  const auto first = open_tokenizer(json_folder), second = open_tokenizer(pair_folder);
  EXPECT_EQ(first->hash(), second->hash());
  EXPECT_EQ(first->end_token(), 262);
  write_file_atomically(json_folder + "/tokenizer_config.json", R"({"bos_token": {"content": "<|endoftext|>"}})");
  EXPECT_EQ(open_tokenizer(json_folder)->begin_token(), 262);
  EXPECT_EQ(open_tokenizer(json_folder)->end_token(), std::nullopt);
}

}  // namespace
}  // namespace fwl
