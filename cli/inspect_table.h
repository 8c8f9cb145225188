// The readable form of a file's description.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fwl {

// Formats the result of describe_file(). Metadata values are truncated to `longest_value` bytes, and control characters
// are escaped.
std::string inspect_table(const nlohmann::json& description, size_t longest_value = 80);

}  // namespace fwl
