// Bytes that are needed later and are too many for memory: a nameless file on disk that vanishes with the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace fwl {

class SpillFile {
 public:
  // On the disk that holds `folder`. The file has no name there, so nothing is left behind even after a crash.
  explicit SpillFile(const std::string& folder);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  void write(const void* bytes, size_t count);
  uint64_t size() const { return size_; }

  // Gives back everything written, in order, in blocks.
  void replay(const std::function<void(std::span<const char>)>& take);

 private:
  void flush();

  std::string folder_;
  int file_ = -1;
  uint64_t size_ = 0;
  std::vector<char> buffer_;
};

}  // namespace fwl
