// Opens byte-level BPE vocabularies from files.
#pragma once

#include <memory>
#include <string>

#include "tokenizer/bpe_tokenizer.h"

namespace fwl {

// A tokenizer.json; a tokenizer_config.json beside it names the begin and end tokens.
std::unique_ptr<BpeTokenizer> open_tokenizer_json(const std::string& path);

// The older pair vocab.json and merges.txt, with GPT-2's split pattern; <|endoftext|> is an added token if present.
std::unique_ptr<BpeTokenizer> open_vocab_and_merges(const std::string& vocab_json, const std::string& merges_txt);

}  // namespace fwl
