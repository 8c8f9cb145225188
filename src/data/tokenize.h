// Tokenizes text files into a token file, as a stream with constant memory.
#pragma once

#include <string>

#include "data/corpus_reader.h"
#include "files/memory_map.h"
#include "support/progress.h"
#include "tokenizer/tokenizer.h"

namespace fwl {

struct TokenizeOptions {
  CorpusOptions corpus;
  std::string out;             // empty: a temporary file
  std::string tokenizer_name;  // stored in the file, informative
  bool special = false;        // text such as <|endoftext|> becomes control tokens
  bool append_end = false;     // add the tokenizer's end token after every document
  int64_t threads = 1;         // blocks encoded at the same time; does not change the result
};

struct TokenizeResult {
  int64_t tokens = 0, documents = 0, files = 0;
  int64_t bytes = 0, words = 0, lines = 0;  // of the source text
  Digest ids_hash{};
  MemoryMap file;  // what was written
};

TokenizeResult tokenize_corpus(const Tokenizer& tokenizer, const TokenizeOptions& options,
                               const ProgressReport& progress = {});

}  // namespace fwl
