// `fwl vocabulary`: makes a vocabulary from text.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "text/corpus_reader.h"
#include "text/word_tokenizer.h"

namespace fwl {
namespace {

struct Options {
  std::string kind = "words";
  CorpusOptions corpus;
  WordVocabularyOptions words;
  std::string out;
  bool json = false;
};

void describe(Fields& fields, Options& options) {
  fields.add("text", options.corpus.inputs, "text files, and folders that are read whole").positional().required();
  fields.add("kind", options.kind, "whole words").choices({"words"});
  fields.add("out", options.out, "the file to write; words: a .vocab file").required();
  fields.add("extension", options.corpus.extension, "of folders, take only files that end so, e.g. .txt");
  fields.add("min_count", options.words.min_count, "words: rarer ones become <unk>").at_least(1);
  fields.add("is_eos_first", options.words.is_eos_first, "words: <eos> is id 0, whatever its frequency");
  fields.add("json", options.json, "print the result as JSON");
}

ProgressReport with_interrupts(ProgressReport report) {
  return [report = std::move(report)](const ProgressEvent& event) {
    throw_if_interrupted();
    report(event);
  };
}

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  const auto files = list_corpus_files(options.corpus);
  const auto words = count_words(files, options.words, with_interrupts(console.progress("count words")));
  save_word_vocabulary(options.out, words);
  int64_t tokens = 0;
  for (const auto& word : words) tokens += word.count;
  if (options.json)
    console.out() << nlohmann::json{{"path", options.out}, {"types", words.size()}, {"tokens", tokens}}.dump() << '\n';
  else
    console.out() << fmt::format("types   {:>15}\ntokens  {:>15}\n{}\n", words.size(), tokens, options.out);
  return 0;
}

}  // namespace

Command vocabulary_command() {
  return make_command<Options>("vocabulary", "a vocabulary from text",
                               "example:\n  fwl vocabulary --kind words --out wiki.vocab wiki.train.tokens", describe,
                               run);
}

}  // namespace fwl
