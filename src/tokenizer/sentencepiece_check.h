// Checks the part of a SentencePiece model that the SentencePiece library does not check.
#pragma once

#include <string>
#include <string_view>

namespace fwl {

// The library trusts the offsets in the normalizer's trie and crashes if one points outside. Throws a UserError.
void check_sentencepiece_model(const std::string& where, std::string_view model);

}  // namespace fwl
