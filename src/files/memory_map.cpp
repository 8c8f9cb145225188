#include "files/memory_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "support/error.h"

namespace fwl {

MemoryMap::MemoryMap(const std::string& path) : path_(path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_with_errno(path, "open");
  struct stat info {};
  const bool has_info = fstat(file, &info) == 0;
  if (!has_info || !S_ISREG(info.st_mode)) {
    close(file);
    fail(path, "a file", S_ISDIR(info.st_mode) ? "a folder" : "something else");
  }
  size_ = static_cast<size_t>(info.st_size);
  void* memory = size_ ? mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
  close(file);
  if (memory == MAP_FAILED) fail_with_errno(path, "map into memory");
  data_ = static_cast<const std::byte*>(memory);
}

MemoryMap::~MemoryMap() {
  if (data_) munmap(const_cast<std::byte*>(data_), size_);
}

MemoryMap::MemoryMap(MemoryMap&& other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MemoryMap& MemoryMap::operator=(MemoryMap&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace fwl
