#include "files/folder.h"

#include <filesystem>

#include "support/error.h"

namespace fwl {

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && std::filesystem::is_directory(path)) return;
  fail(path, "a folder that can be made", error ? error.message() : "a file of that name");
}

}  // namespace fwl
