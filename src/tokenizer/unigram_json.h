// Unigram vocabularies from Hugging Face's tokenizer.json.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tokenizer/tokenizer.h"

namespace fwl {

// `begin` and `end` are the texts of those tokens; empty: none. Throws UserError.
std::unique_ptr<Tokenizer> open_unigram_json(const std::string& where, const nlohmann::json& root,
                                             const std::string& begin, const std::string& end);

}  // namespace fwl
