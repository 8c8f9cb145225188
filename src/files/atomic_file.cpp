#include "files/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "support/error.h"

namespace fwl {
namespace {

constexpr size_t buffer_bytes = 1 << 20;

void write_all(int file, const char* bytes, size_t count, uint64_t offset, const std::string& path) {
  while (count > 0) {
    const auto written = pwrite(file, bytes, count, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with_errno(path, "write");
    bytes += written;
    offset += static_cast<uint64_t>(written);
    count -= static_cast<size_t>(written);
  }
}

void sync_folder_of(const std::string& path) {
  auto folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const int handle = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return;  // the rename is done; a folder that cannot be opened cannot be synced
  fsync(handle);
  close(handle);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path)
    : path_(path), partial_path_(fmt::format("{}.partial.{}", path, getpid())) {
  file_ = open(partial_path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) fail_with_errno(path_, "create");
  buffer_.reserve(buffer_bytes);
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  close(file_);
  unlink(partial_path_.c_str());
}

void AtomicFile::write(const void* bytes, size_t count) {
  if (buffer_.size() + count > buffer_bytes) flush();
  if (count >= buffer_bytes) {
    write_all(file_, static_cast<const char*>(bytes), count, size_, path_);
  } else {
    const auto* text = static_cast<const char*>(bytes);
    buffer_.insert(buffer_.end(), text, text + count);
  }
  size_ += count;
}

void AtomicFile::flush() {
  write_all(file_, buffer_.data(), buffer_.size(), size_ - buffer_.size(), path_);
  buffer_.clear();
}

void AtomicFile::write_at(uint64_t offset, const void* bytes, size_t count) {
  flush();
  write_all(file_, static_cast<const char*>(bytes), count, offset, path_);
}

void AtomicFile::commit() {
  flush();
  if (fsync(file_) != 0) fail_with_errno(path_, "flush to disk");
  if (close(std::exchange(file_, -1)) != 0 || rename(partial_path_.c_str(), path_.c_str()) != 0) {
    const int code = errno;
    unlink(partial_path_.c_str());
    errno = code;
    fail_with_errno(path_, "write");
  }
  sync_folder_of(path_);
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace fwl
