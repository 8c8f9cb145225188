// Folders for what a command writes.
#pragma once

#include <string>

namespace fwl {

// Makes it and what lies above it; throws UserError, e.g. where a file has that name.
void make_folder(const std::string& path);

}  // namespace fwl
