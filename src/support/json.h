// JSON that nobody vouches for: parsed with a bounded depth, and every failure is one clear line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace fwl {

// Throws UserError that names `where`. Nothing this project reads is nested deeper than `deepest`.
nlohmann::json parse_json(std::string_view where, std::string_view text, int deepest = 64);

}  // namespace fwl
