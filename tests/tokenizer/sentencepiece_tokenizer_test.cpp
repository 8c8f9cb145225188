#include "tokenizer/sentencepiece_tokenizer.h"

#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include <random>

#include "files/atomic_file.h"
#include "files/memory_map.h"
#include "support/error.h"
#include "tokenizer/sentencepiece_model.h"
#include "tokenizer/utf8.h"

namespace fwl {
namespace {

std::string sample_text() {
  const std::vector<std::string> words = {"the", "cat", "sat", "on", "a", "mat", "über", "naïve", "42", "и", "кот"};
  std::mt19937 random(1);
  std::string text;
  for (int i = 0; i < 3000; ++i) text += words[random() % words.size()] + (random() % 9 ? " " : ".\n");
  return text;
}

std::string trained_model(const std::string& type) {
  const auto text_path = testing::TempDir() + "sentences.txt", model_path = testing::TempDir() + type + ".model";
  write_file_atomically(text_path, sample_text());
  train_sentencepiece({text_path}, {.vocabulary_size = 320, .model_type = type}, model_path);
  return model_path;
}

TEST(SentencePiece, TrainedVocabulariesGiveEveryValidTextBack) {
  std::mt19937 random(2);
  for (const auto* type : {"unigram", "bpe"}) {
    const auto tokenizer = open_tokenizer(trained_model(type));
    EXPECT_EQ(tokenizer->kind(), "sentencepiece");
    EXPECT_LE(tokenizer->vocabulary_size(), 320);
    EXPECT_LT(tokenizer->encode("the cat sat on a mat").size(), 16U);
    for (int i = 0; i < 100; ++i) {
      std::string text = i % 2 ? "  the cat\n\n sat " : "";
      for (int j = 0; j < 30; ++j) append_utf8(random() % 2 ? random() % 0x80 : random() % 0x2000, text);
      ASSERT_EQ(tokenizer->decode(tokenizer->encode(text)), text) << type;
    }
  }
}

TEST(SentencePiece, TrainingRepeats) {
  const auto first = open_tokenizer(trained_model("unigram"))->hash();
  EXPECT_EQ(open_tokenizer(trained_model("unigram"))->hash(), first);
}

TEST(SentencePiece, PrintsNothing) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  trained_model("bpe");
  EXPECT_THROW(SentencePieceTokenizer("test", "nonsense"), UserError);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(SentencePiece, ErrorsAreClear) {
  EXPECT_THROW(SentencePieceTokenizer("test", ""), UserError);
  EXPECT_THROW(SentencePieceTokenizer("test", std::string(1000, '\xFF')), UserError);
  const auto tokenizer = open_tokenizer(trained_model("bpe"));
  EXPECT_THROW(tokenizer->decode(std::vector<TokenId>{-1}), UserError);
  EXPECT_THROW(tokenizer->decode(std::vector<TokenId>{100000}), UserError);
  EXPECT_THROW(train_sentencepiece({}, {}, testing::TempDir() + "none.model"), UserError);
  EXPECT_THROW(train_sentencepiece({"/nowhere"}, {}, testing::TempDir() + "none.model"), UserError);
  EXPECT_THROW(train_sentencepiece({testing::TempDir() + "sentences.txt"}, {.vocabulary_size = 10}, "/tmp/none.model"),
               UserError);
}

TEST(SentencePiece, AModelFromPlainDataGivesTheSameIds) {
  const MemoryMap map(trained_model("bpe"));
  sentencepiece::SentencePieceProcessor source;
  ASSERT_TRUE(source.LoadFromSerializedProto(map.text()).ok());
  SentencePieceModel model;
  model.falls_back_to_bytes = true;
  model.adds_space = false;
  for (int id = 0; id < source.GetPieceSize(); ++id) {
    const int64_t type = source.IsUnknown(id) ? 2 : source.IsControl(id) ? 3 : source.IsByte(id) ? 6 : 1;
    model.pieces.push_back({source.IdToPiece(id), source.GetScore(id), type});
  }
  const SentencePieceTokenizer first("first", map.text()), second("second", to_bytes(model));
  const auto text = sample_text() + "  \u4F60\n<s>";
  EXPECT_EQ(first.encode(text), second.encode(text));
  EXPECT_EQ(second.begin_token(), first.begin_token());
  EXPECT_EQ(second.end_token(), first.end_token());
}

}  // namespace
}  // namespace fwl
