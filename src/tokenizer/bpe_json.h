// Byte-level BPE vocabularies from Hugging Face's tokenizer.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "tokenizer/bpe_tokenizer.h"

namespace fwl {

// Parses the file. Throws a UserError for normalizers other than NFC, models other than BPE and pre-tokenizers that are
// not byte-level. Ignores post-processors (begin and end tokens) and decoders.
BpeVocabulary parse_tokenizer_json(const std::string& where, std::string_view json);
BpeVocabulary parse_tokenizer_json(const std::string& where, const nlohmann::json& root);

// Only the fields "model" and "added_tokens", of byte-level vocabularies and those that fall back to bytes.
BpeVocabulary vocabulary_from_json(const std::string& where, const nlohmann::json& root);

// Sets begin and end tokens from the content of a tokenizer_config.json, or from their usual names if it is empty.
void find_begin_and_end(const std::string& where, std::string_view config_json, BpeVocabulary& vocabulary);

}  // namespace fwl
