// All tables in a folder of results on one page, and a summary of each scale.
#pragma once

#include <filesystem>

namespace fwl {

// Writes report.html into the folder, and summary.md into the folder of each scale.
void write_overview(const std::filesystem::path& results);

}  // namespace fwl
