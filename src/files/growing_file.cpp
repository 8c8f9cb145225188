#include "files/growing_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "files/atomic_file.h"
#include "support/error.h"

namespace fwl {

GrowingFile::GrowingFile(const std::string& path, uint64_t size) : path_(path), size_(size) {
  if (size == 0) write_file_atomically(path, {});
  file_ = open(output_target(path).path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (file_ < 0) fail_with_errno(path_, "write");
  struct stat status {};
  const bool is_known = fstat(file_, &status) == 0;
  if (!is_known || static_cast<uint64_t>(status.st_size) < size || ftruncate(file_, static_cast<off_t>(size)) != 0) {
    close(file_);
    fail(path_, fmt::format("at least {} bytes", size),
         is_known ? std::to_string(status.st_size) : "an unreadable file",
         "the file was cut off; remove it to make it anew");
  }
}

GrowingFile::~GrowingFile() {
  close(file_);
}

void GrowingFile::append(const void* bytes, size_t count) {
  const auto* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const auto written = pwrite(file_, next, count, static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with_errno(path_, "write");
    next += written;
    size_ += static_cast<uint64_t>(written);
    count -= static_cast<size_t>(written);
  }
}

void GrowingFile::sync() {
  if (fsync(file_) != 0) fail_with_errno(path_, "flush to disk");
}

}  // namespace fwl
