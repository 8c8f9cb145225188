// Normalizes to Unicode's form C, which some vocabularies (Qwen) require.
#pragma once

#include <string>
#include <string_view>

namespace fwl {

// A quick check: true is certain, false may be wrong.
bool is_nfc(std::string_view text);

// Valid stretches are normalized; bytes that are not part of valid UTF-8 stay as they are.
std::string to_nfc(std::string_view text);

}  // namespace fwl
