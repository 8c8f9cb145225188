// `fwl vocabulary`: builds a vocabulary from text.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "data/corpus_reader.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "tokenizer/sentencepiece_tokenizer.h"
#include "tokenizer/word_tokenizer.h"

namespace fwl {
namespace {

struct Options {
  std::string kind = "words";
  CorpusOptions corpus;
  WordVocabularyOptions words;
  SentencePieceOptions pieces;
  std::string out;
  bool json = false;
};

void describe(Fields& fields, Options& options) {
  fields.add("text", options.corpus.inputs, "text files and folders, with their subfolders")
      .positional()
      .required()
      .reads_texts();
  fields.add("kind", options.kind, "whole words, or SentencePiece subwords").choices({"words", "sentencepiece"});
  fields.add("out", options.out, "file to write: .vocab for words, .model for sentencepiece").required().writes_file();
  fields.add("extension", options.corpus.extension, "in folders, read only files with this ending, e.g. .txt");
  fields.add("min_count", options.words.min_count, "words: rarer words become <unk>").at_least(1);
  fields.add("eos_first", options.words.is_eos_first, "words: give <eos> the id 0, whatever its frequency");
  fields.add("size", options.pieces.vocabulary_size, "sentencepiece: vocabulary size").range(10, 1 << 20);
  fields.add("model_type", options.pieces.model_type, "sentencepiece: algorithm").choices({"unigram", "bpe"});
  fields
      .add("character_coverage", options.pieces.character_coverage,
           "sentencepiece: share of characters to cover; rarer ones become bytes")
      .range(0.5, 1);
  fields.add("max_text_bytes", options.pieces.max_text_bytes, "sentencepiece: sample larger texts evenly by lines")
      .range(1000, 1e12);
  fields.add("json", options.json, "print the result as JSON");
}

ProgressReport with_interrupts(ProgressReport report) {
  return [report = std::move(report)](const ProgressEvent& event) {
    throw_if_interrupted();
    report(event);
  };
}

nlohmann::json make_words(const Options& options, const std::vector<std::string>& files, Console& console) {
  const auto words = count_words(files, options.words, with_interrupts(console.progress("count words")));
  save_word_vocabulary(options.out, words);
  int64_t tokens = 0;
  for (const auto& word : words) tokens += word.count;
  return {{"types", words.size()}, {"tokens", tokens}};
}

nlohmann::json make_pieces(const Options& options, const std::vector<std::string>& files, Console& console) {
  train_sentencepiece(files, options.pieces, options.out, with_interrupts(console.progress("train sentencepiece")));
  return {{"types", open_tokenizer(options.out)->vocabulary_size()}};
}

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  const auto files = list_corpus_files(options.corpus);
  auto result = (options.kind == "words" ? make_words : make_pieces)(options, files, console);
  if (options.json) {
    result["path"] = options.out;
    console.out() << result.dump() << '\n';
    return 0;
  }
  for (const auto& [name, count] : result.items())
    console.out() << fmt::format("{:<7} {:>15}\n", name, count.get<int64_t>());
  console.out() << options.out << '\n';
  return 0;
}

}  // namespace

Command vocabulary_command() {
  return make_command<Options>("vocabulary", "build a vocabulary from text",
                               "examples:\n  fwl vocabulary --kind words --out wiki.vocab wiki.train.tokens\n"
                               "  fwl vocabulary --kind sentencepiece --size 8000 --out books.model books/",
                               describe, run);
}

}  // namespace fwl
