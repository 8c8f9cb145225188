#include "files/temporary_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "files/range_lock.h"
#include "support/error.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

constexpr size_t random_letters = 12;
constexpr int most_tries = 100;

std::string random_name(const std::string& prefix) {
  constexpr char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
  uint8_t bytes[random_letters];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) fail_with_errno("a temporary file", "be named at random");
  auto name = prefix;
  for (const auto byte : bytes) name += letters[byte % 32];
  return name;
}

std::string link_of(int file) {
  return "/proc/self/fd/" + std::to_string(file);
}

// A file without a name gets one through /proc.
int open_unnamed(const std::string& folder, mode_t mode) {
  const int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  if (file < 0 || access(link_of(file).c_str(), F_OK) == 0) return file;
  close(file);
  return -1;
}

}  // namespace

TemporaryFile::TemporaryFile(std::string where, const std::string& folder, std::string prefix, mode_t mode,
                             Naming naming)
    : where_(std::move(where)),
      folder_(folder.empty() ? "." : folder),
      prefix_(std::move(prefix)),
      file_(naming == Naming::always ? -1 : open_unnamed(folder_, mode)) {
  if (file_ < 0)
    open_named(mode);
  else
    try_lock(file_, LockKind::exclusive);
}

// Between creation and lock, another process may take the file for a stale one and remove it.
void TemporaryFile::open_named(mode_t mode) {
  for (int tries = 0; tries < most_tries; ++tries) {
    name_ = folder_ + "/" + random_name(prefix_);
    file_ = open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (file_ < 0 && errno != EEXIST) break;
    if (file_ < 0) continue;
    if (try_lock(file_, LockKind::exclusive) && has_its_name()) return;
    close(std::exchange(file_, -1));
  }
  fail_with_errno(where_, "create");
}

bool TemporaryFile::has_its_name() const {
  struct stat opened {
  }, named{};
  return fstat(file_, &opened) == 0 && lstat(name_.c_str(), &named) == 0 && opened.st_ino == named.st_ino;
}

TemporaryFile::~TemporaryFile() {
  if (file_ < 0) return;
  if (!name_.empty()) unlink(name_.c_str());
  close(file_);
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : where_(std::move(other.where_)),
      folder_(std::move(other.folder_)),
      prefix_(std::move(other.prefix_)),
      name_(std::exchange(other.name_, {})),
      file_(std::exchange(other.file_, -1)) {}

void TemporaryFile::write_at(uint64_t offset, const void* bytes, size_t count) {
  const auto* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const auto written = pwrite(file_, next, count, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with_errno(where_, "write");
    next += written;
    offset += static_cast<uint64_t>(written);
    count -= static_cast<size_t>(written);
  }
}

void TemporaryFile::rename_to(const std::string& path) {
  if (name_.empty()) {
    const auto name = folder_ + "/" + random_name(prefix_);
    if (linkat(AT_FDCWD, link_of(file_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
      fail_with_errno(path, "write");
    name_ = name;
  }
  if (rename(name_.c_str(), path.c_str()) != 0) fail_with_errno(path, "write");
  name_.clear();
}

std::string temporary_folder() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen && *chosen ? chosen : "/tmp";
}

void remove_stale_files(const std::string& folder, std::string_view part) {
  std::error_code error;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().find(part) == std::string::npos) continue;
    const int file = open(at->path().c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) continue;
    if (try_lock(file, LockKind::exclusive)) unlink(at->path().c_str());
    close(file);
  }
}

}  // namespace fwl
