#include "files/output_target.h"

#include <cerrno>
#include <filesystem>

#include "files/file_kind.h"
#include "support/error.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;  // as in the kernel

// The path that the last link names, which need not exist.
std::string behind_links(const std::string& path) {
  fs::path target = path;
  for (int links = 0; links < most_links; ++links) {
    std::error_code error;
    const auto next = fs::read_symlink(target, error);
    if (error) return target.string();
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  errno = ELOOP;
  fail_with_errno(path, "write");
}

}  // namespace

OutputTarget output_target(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode)) fail(path, "a regular file or a new name", file_kind(info.st_mode));
    return {behind_links(path), info};
  }
  if (errno != ENOENT) fail_with_errno(path, "write");
  return {behind_links(path), std::nullopt};
}

}  // namespace fwl
