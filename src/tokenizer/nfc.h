// Normalizes to Unicode's form C, which some vocabularies (Qwen) require.
#pragma once

#include <string>
#include <string_view>

namespace fwl {

// A quick check: true is certain; false means that it may or may not be normalized.
bool is_nfc(std::string_view text);

// Normalizes valid UTF-8; leaves invalid bytes unchanged.
std::string to_nfc(std::string_view text);

}  // namespace fwl
