// Unicode's normal form C, which some vocabularies (Qwen) ask for.
#pragma once

#include <string>
#include <string_view>

namespace fwl {

// A quick look that may say no for a text that is in normal form, but never yes for one that is not.
bool is_nfc(std::string_view text);

// Valid stretches are normalized; bytes that are not part of valid UTF-8 stay as they are.
std::string to_nfc(std::string_view text);

}  // namespace fwl
