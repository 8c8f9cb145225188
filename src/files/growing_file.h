// A file that grows over several runs: synced bytes stay, later bytes are cut off and written again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace fwl {

class GrowingFile {
 public:
  // Opens it and truncates it to `size` bytes; throws a UserError if it is shorter. With `size` 0 it is a new file, so
  // that those who have mapped an older one of that name keep it.
  GrowingFile(const std::string& path, uint64_t size);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  void append(const void* bytes, size_t count);
  void sync();  // to disk
  uint64_t size() const { return size_; }

 private:
  std::string path_;
  int file_ = -1;
  uint64_t size_;
};

}  // namespace fwl
