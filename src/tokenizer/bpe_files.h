// Byte-level BPE vocabularies from the files that hold them.
#pragma once

#include <memory>
#include <string>

#include "tokenizer/bpe_tokenizer.h"

namespace fwl {

// A tokenizer.json; a tokenizer_config.json beside it names the begin and end tokens.
std::unique_ptr<BpeTokenizer> open_tokenizer_json(const std::string& path);

// The older pair of files, which goes with GPT-2's split pattern; <|endoftext|> is found in the text if it is a token.
std::unique_ptr<BpeTokenizer> open_vocab_and_merges(const std::string& vocab_json, const std::string& merges_txt);

}  // namespace fwl
