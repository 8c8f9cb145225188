// Describes any file or folder that this project reads, as JSON; formats are recognised by content.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fwl {

constexpr size_t every_element = static_cast<size_t>(-1);

// Always has "path", "file_bytes" and "format"; the rest depends on the format. Throws a UserError for other formats.
nlohmann::json describe_file(const std::string& path, size_t longest_array = 8);

}  // namespace fwl
