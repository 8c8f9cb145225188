// Creates output folders.
#pragma once

#include <string>

namespace fwl {

// Creates the folder and its parents; throws a UserError, e.g. if a file has that name.
void make_folder(const std::string& path);

}  // namespace fwl
