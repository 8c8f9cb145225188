// Translates split patterns, which are published for Oniguruma with Unicode 16, to PCRE2.
#pragma once

#include <string>
#include <string_view>

namespace fwl {

// Rewrites \s (PCRE2 adds U+180E), and \p{L}, \p{M}, \p{N}, \d and their subclasses (PCRE2 10.42 has Unicode 14).
// Throws a UserError for constructs with another meaning in PCRE2 (\h, nested classes, &&).
std::string pattern_for_pcre2(std::string_view where, std::string_view pattern);

}  // namespace fwl
