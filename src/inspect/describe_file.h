// What is in any file or folder that this project reads, as JSON; recognised by content.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fwl {

constexpr size_t every_element = static_cast<size_t>(-1);

// "path", "file_bytes" and "format" always; the rest depends on the format. Throws UserError for anything else.
nlohmann::json describe_file(const std::string& path, size_t longest_array = 8);

}  // namespace fwl
