#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_fwl.h"
#include "data/token_file.h"
#include "support/scratch.h"

namespace fwl {
namespace {

TEST(TokenizeCommand, WritesATokenFileAndPrintsItsCountsAndPath) {
  const auto folder = fresh_folder("tokenize_command"), out = folder + "/a.tokens";
  const auto text = write_text(folder + "/a.txt", "two words\nand three more\n");
  const auto result = run_fwl({"tokenize", "--tokenizer", "bytes", "--out", out, text, "--threads", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(last_line(result.out), out);
  EXPECT_NE(result.out.find("words                    5"), std::string::npos) << result.out;
  EXPECT_EQ(TokenFile(out).size(), 25);
  EXPECT_EQ(TokenFile(out).tokenizer_kind(), "byte");
}

TEST(TokenizeCommand, PrintsJsonWhenAsked) {
  const auto folder = fresh_folder("tokenize_command"), out = folder + "/a.tokens";
  const auto text = write_text(folder + "/a.txt", "one\ntwo\n");
  const auto result = run_fwl({"tokenize", text, "--tokenizer=bytes", "--documents=line", "--json", "--out", out});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["documents"], 2);
  EXPECT_EQ(json["tokens"], 8);
  EXPECT_EQ(json["data_hash"], to_hex(TokenFile(out).ids_hash()));
}

TEST(TokenizeCommand, MistakesAreOneLineAndTheRightExitCode) {
  const auto folder = fresh_folder("tokenize_command");
  const auto text = write_text(folder + "/a.txt", "text");
  const auto missing_flag = run_fwl({"tokenize", text});
  EXPECT_EQ(missing_flag.exit_code, 2);
  const auto no_tokenizer = run_fwl({"tokenize", "--tokenizer", folder + "/none.vocab", "--out", folder + "/o", text});
  EXPECT_EQ(no_tokenizer.exit_code, 1);
  const auto no_text = run_fwl({"tokenize", "--tokenizer", "bytes", "--out", folder + "/o", folder + "/none.txt"});
  EXPECT_EQ(no_text.exit_code, 1);
  EXPECT_EQ(no_text.errors,
            "fwl: " + folder + "/none.txt: expected a text file or a folder, got nothing of that name\n");
  const auto no_end = run_fwl({"tokenize", "--tokenizer", "bytes", "--append-end", "--out", folder + "/o", text});
  EXPECT_EQ(no_end.exit_code, 1);
  EXPECT_FALSE(std::filesystem::exists(folder + "/o"));
}

TEST(VocabularyCommand, MakesAWordVocabularyThatTokenizeReads) {
  const auto folder = fresh_folder("vocabulary_command"), vocabulary = folder + "/w.vocab", out = folder + "/w.tokens";
  const auto text = write_text(folder + "/text/a.txt", " the cat \n \n the dog \n");
  const auto made = run_fwl({"vocabulary", "--kind", "words", "--out", vocabulary, folder + "/text", "--json"});
  EXPECT_EQ(nlohmann::json::parse(made.out)["types"], 4) << made.errors;
  const auto result = run_fwl({"tokenize", "--tokenizer", vocabulary, "--out", out, text, "--json"});
  EXPECT_EQ(nlohmann::json::parse(result.out)["tokens"], 7) << result.errors;
}

TEST(VocabularyCommand, TrainsASentencePieceVocabularyThatTokenizeReads) {
  const auto folder = fresh_folder("vocabulary_command"), model = folder + "/w.model", out = folder + "/w.tokens";
  std::string lines;
  for (int i = 0; i < 200; ++i) lines += "the cat saw " + std::to_string(i) + " dogs\n";
  const auto text = write_text(folder + "/a.txt", lines);
  const auto made = run_fwl({"vocabulary", "--kind", "sentencepiece", "--size", "300", "--out", model, text});
  EXPECT_EQ(last_line(made.out), model) << made.errors;
  const auto result = run_fwl({"tokenize", "--tokenizer", model, "--out", out, text, "--json"});
  EXPECT_EQ(nlohmann::json::parse(result.out)["lines"], 200) << result.errors;
  EXPECT_EQ(TokenFile(out).tokenizer_kind(), "sentencepiece");
}

TEST(VocabularyCommand, SamplesTextsThatAreLargerThanMaxTextBytes) {
  const auto folder = fresh_folder("vocabulary_command"), model = folder + "/w.model";
  std::string lines;
  for (int i = 0; i < 200; ++i) lines += i % 2 == 0 ? "the cat saw\n" : "zebra hunts\n";
  const auto text = write_text(folder + "/a.txt", lines);
  const auto vocabulary_from = [&](const std::string& max_bytes) {
    const auto made = run_fwl({"vocabulary", "--kind", "sentencepiece", "--size", "300", "--max-text-bytes", max_bytes,
                               "--out", model, text});
    EXPECT_EQ(made.exit_code, 0) << made.errors;
    return read_text(model);
  };
  const auto whole = vocabulary_from("100000");
  EXPECT_EQ(whole, vocabulary_from("50000"));
  EXPECT_NE(whole, vocabulary_from("1200"));
}

}  // namespace
}  // namespace fwl
