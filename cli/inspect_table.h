// The readable form of a file's description.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fwl {

// Takes what describe_file() gives; values of metadata are cut after `longest_value` bytes. Nothing from the file can
// move the cursor or break a line.
std::string inspect_table(const nlohmann::json& description, size_t longest_value = 80);

}  // namespace fwl
