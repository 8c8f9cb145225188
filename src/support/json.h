// Parses untrusted JSON with a limit on its depth; every failure is a one-line error.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace fwl {

// Throws a UserError that names `where`. No file that this project reads is nested deeper than `deepest`.
nlohmann::json parse_json(std::string_view where, std::string_view text, int deepest = 64);

}  // namespace fwl
