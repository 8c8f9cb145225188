#include "files/temporary_folder.h"

#include <cstdlib>
#include <filesystem>

#include "support/error.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

void remove_stale_folders(const std::string& parent, const std::string& prefix) {
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with(prefix) || !at->is_directory(error)) continue;
    const auto lock = FileLock::try_take(at->path().string(), LockKind::exclusive);
    if (lock) fs::remove_all(at->path(), error);
  }
}

std::string new_folder(const std::string& parent, const std::string& prefix) {
  auto path = parent + "/" + prefix + "XXXXXX";
  if (!mkdtemp(path.data())) fail_with_errno(parent, "create a folder in this folder");
  return path;
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& parent, const std::string& prefix) {
  remove_stale_folders(parent, prefix);
  path_ = new_folder(parent, prefix);
  lock_ = FileLock(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace fwl
