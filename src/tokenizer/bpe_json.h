// Byte-level BPE vocabularies from Hugging Face's tokenizer.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "tokenizer/bpe_tokenizer.h"

namespace fwl {

// What the file says, or a UserError: normalizers other than NFC, models other than BPE and steps of splitting that are
// not byte-level are refused. Post-processors (begin and end tokens) and decoders do not matter here.
BpeVocabulary parse_tokenizer_json(const std::string& where, std::string_view json);

// Its fields "model" and "added_tokens" alone.
BpeVocabulary vocabulary_from_json(const std::string& where, const nlohmann::json& root);

// Begin and end tokens: by the text of a tokenizer_config.json if it is not empty, otherwise by their usual names.
void find_begin_and_end(const std::string& where, std::string_view config_json, BpeVocabulary& vocabulary);

}  // namespace fwl
