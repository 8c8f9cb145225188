#include "files/memory_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "files/file_kind.h"
#include "support/error.h"

namespace fwl {

MemoryMap::MemoryMap(const std::string& path) : path_(path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);  // a FIFO must not block
  if (file < 0) fail_with_errno(path, "open");
  try {
    map(file);
  } catch (...) {
    close(file);
    throw;
  }
  close(file);
}

MemoryMap::MemoryMap(int file, std::string where) : path_(std::move(where)) {
  map(file);
}

void MemoryMap::map(int file) {
  struct stat info {};
  if (fstat(file, &info) != 0) fail_with_errno(path_, "open");
  if (!S_ISREG(info.st_mode)) fail(path_, "a file", file_kind(info.st_mode));
  size_ = static_cast<size_t>(info.st_size);
  void* memory = size_ ? mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
  if (memory == MAP_FAILED) fail_with_errno(path_, "map into memory");
  data_ = static_cast<const std::byte*>(memory);
}

void MemoryMap::release_pages(size_t offset, size_t count) const {
  (void)madvise(const_cast<std::byte*>(data_) + offset, count, MADV_DONTNEED);  // advice: it may fail
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
