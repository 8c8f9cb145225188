// Where the code that runs is installed, so that files beside it are found.
#pragma once

#include <filesystem>

namespace fwl {

// The folder of the program, or of the shared library or Python module that this code is in.
std::filesystem::path own_folder();

}  // namespace fwl
