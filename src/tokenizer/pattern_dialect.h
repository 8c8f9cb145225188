// Split patterns are published for Oniguruma with Unicode 16; this writes them for PCRE2, whose classes differ a
// little.
#pragma once

#include <string>
#include <string_view>

namespace fwl {

// Differences that are bridged: \s (PCRE2 adds U+180E), and \p{L}, \p{M}, \p{N}, \d and their kinds (PCRE2 10.42 knows
// Unicode 14). Constructs that PCRE2 would read in another sense (\h, nested classes, &&) are refused with a UserError.
std::string pattern_for_pcre2(std::string_view where, std::string_view pattern);

}  // namespace fwl
