#include "files/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "files/output_target.h"
#include "support/error.h"
#include "support/printable.h"

namespace fwl {
namespace {

constexpr size_t longest_holder = 300;

std::string lock_path(const std::string& path) {
  if (std::filesystem::is_directory(path)) return path + "/.lock";
  return output_target(path).path + ".lock";
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string this_process() {
  auto command = contents("/proc/self/cmdline");
  std::ranges::replace(command, '\0', ' ');
  char host[HOST_NAME_MAX + 1] = {};
  gethostname(host, sizeof host - 1);
  return fmt::format("process {} on {}: {}", getpid(), host, command.substr(0, longest_holder));
}

}  // namespace

FileLock::FileLock(const std::string& path, LockKind kind) : path_(lock_path(path)) {
  if (take(kind, {})) return;
  const auto name = std::filesystem::is_directory(path) ? "a folder" : "a file";
  const auto holder = holder_of(path);
  fail(path, fmt::format("{} that no other process uses", name),
       "one in use by " + (holder.empty() ? "another process" : holder), "wait until it ends, or use another one");
}

std::optional<FileLock> FileLock::try_take(const std::string& path, LockKind kind, const std::string& holder) {
  FileLock lock;
  lock.path_ = lock_path(path);
  if (!lock.take(kind, holder)) return std::nullopt;
  return lock;
}

std::string FileLock::holder_of(const std::string& path) {
  return printable(contents(lock_path(path)), longest_holder);
}

// The last holder removes the file: a lock counts only while it is on the file of that name.
bool FileLock::take(LockKind kind, const std::string& holder) {
  while (true) {
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file_ < 0) fail_with_errno(path_, "lock");
    const bool is_taken = try_lock(file_, kind);
    if (is_taken && has_its_name()) break;
    close(std::exchange(file_, -1));
    if (!is_taken) return false;
  }
  if (kind == LockKind::shared && !contents(path_).empty()) return true;  // it names the first of those who share it
  const auto text = holder.empty() ? this_process() : holder;
  if (ftruncate(file_, 0) != 0 || pwrite(file_, text.data(), text.size(), 0) < 0) fail_with_errno(path_, "lock");
  return true;
}

bool FileLock::has_its_name() const {
  struct stat opened {
  }, named{};
  return fstat(file_, &opened) == 0 && lstat(path_.c_str(), &named) == 0 && opened.st_ino == named.st_ino;
}

FileLock::~FileLock() {
  if (file_ < 0) return;
  if (try_lock(file_, LockKind::exclusive)) unlink(path_.c_str());
  close(file_);
}

FileLock::FileLock(FileLock&& other) noexcept : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  return *this;
}

void FileLock::share() {
  try_lock(file_, LockKind::shared);
}

}  // namespace fwl
