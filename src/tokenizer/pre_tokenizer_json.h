// Parses the pre-tokenizer and normalizer of a tokenizer.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tokenizer/pre_tokenizer.h"

namespace fwl {

// Kinds: ByteLevel (last), Split (behaviour Isolated, or Removed with invert), Digits, Sequence. Others are errors.
std::vector<SplitStep> parse_pre_tokenizer(const std::string& where, const nlohmann::json& pre_tokenizer);

// False for none, true for NFC; other normalizers are errors.
bool asks_for_nfc(const std::string& where, const nlohmann::json& normalizer);

}  // namespace fwl
