// A file's checksum inside the file itself: SHA-256 of all its bytes, with the checksum's own digits as zeros.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace fwl {

inline constexpr const char* checksum_key = "fwl_checksum";
inline constexpr std::string_view blank_checksum = "0000000000000000000000000000000000000000000000000000000000000000";

// Throws a UserError unless `found`, the checksum that stands somewhere in `bytes`, is theirs; an empty one is missing.
// `where` and `content` name the file in errors: "a.session", "a session".
void expect_self_checksum(std::string_view where, std::string_view content, std::string_view bytes,
                          const std::string& found);

// An object as an indented JSON file with its checksum, and back, without it.
std::string checked_json_text(nlohmann::json object);
nlohmann::json parse_checked_json(const std::string& where, std::string_view content, std::string_view text);

}  // namespace fwl
