// Opens vocabularies from the files of Hugging Face folders.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tokenizer/bpe_tokenizer.h"

namespace fwl {

// A tokenizer.json of byte-level BPE, of BPE that falls back to bytes, or of Unigram. A tokenizer_config.json beside it
// names the begin and end tokens.
std::unique_ptr<Tokenizer> open_tokenizer_json(const std::string& path);

// The same from what was read; without a tokenizer_config.json its text is empty.
std::unique_ptr<Tokenizer> tokenizer_from_json(const std::string& where, const nlohmann::json& root,
                                               std::string_view config_json);

// The older pair vocab.json and merges.txt, with GPT-2's split pattern; <|endoftext|> is an added token if present.
std::unique_ptr<BpeTokenizer> open_vocab_and_merges(const std::string& vocab_json, const std::string& merges_txt);

}  // namespace fwl
