// Buffers bytes in an unnamed temporary file, which vanishes with the process.
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
  // On the disk of `folder`. The file has no name, so nothing is left behind even after a crash.
  explicit SpillFile(const std::string& folder);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  void write(const void* bytes, size_t count);
  uint64_t size() const { return size_; }

  // Passes everything written to `sink`, in order, in blocks.
  void replay(const std::function<void(std::span<const char>)>& sink);

 private:
  void flush();

  std::string folder_;
  int file_ = -1;
  uint64_t size_ = 0;
  std::vector<char> buffer_;
};

}  // namespace fwl
