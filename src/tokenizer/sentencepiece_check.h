// Looks through a SentencePiece model for what the SentencePiece library would follow without looking.
#pragma once

#include <string>
#include <string_view>

namespace fwl {

// The library trusts the table of the normalizer (a trie that is walked by offsets) and crashes where one leads
// outside. Throws UserError.
void check_sentencepiece_model(const std::string& where, std::string_view model);

}  // namespace fwl
