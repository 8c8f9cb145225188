// Maps a whole file into read-only memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fwl {

class MemoryMap {
 public:
  explicit MemoryMap(const std::string& path);  // throws UserError; an empty file maps to an empty span
  MemoryMap(int file, std::string where);       // of an open file, which may be closed afterwards
  ~MemoryMap();
  MemoryMap(MemoryMap&& other) noexcept;
  MemoryMap& operator=(MemoryMap&& other) noexcept;

  const std::string& path() const { return path_; }
  size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

  // Pages that were read no longer count as memory of this process; `offset` is a multiple of the page size.
  void release_pages(size_t offset, size_t count) const;

 private:
  void map(int file);

  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace fwl
