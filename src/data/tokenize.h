// From text files to a token file, streamed: memory use does not depend on the size of the corpus.
#pragma once

#include <string>

#include "data/corpus_reader.h"
#include "support/progress.h"
#include "tokenizer/tokenizer.h"

namespace fwl {

struct TokenizeOptions {
  CorpusOptions corpus;
  std::string out;
  std::string tokenizer_name;  // kept in the file, for people
  bool append_end = false;     // the tokenizer's end token after every document
  int64_t threads = 1;         // blocks encoded at the same time; the file is the same for any number
};

struct TokenizeResult {
  int64_t tokens = 0, documents = 0, files = 0;
  int64_t bytes = 0, words = 0, lines = 0;  // of the source text
  Digest ids_hash{};
};

TokenizeResult tokenize_corpus(const Tokenizer& tokenizer, const TokenizeOptions& options,
                               const ProgressReport& progress = {});

}  // namespace fwl
