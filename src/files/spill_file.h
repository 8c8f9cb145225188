// Buffers bytes in a temporary file, which vanishes with the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "files/temporary_file.h"

namespace fwl {

class SpillFile {
 public:
  // On the disk of `folder`.
  explicit SpillFile(const std::string& folder);

  void write(const void* bytes, size_t count);
  uint64_t size() const { return size_; }

  // Passes everything written to `sink`, in order, in blocks.
  void replay(const std::function<void(std::span<const char>)>& sink);

 private:
  void flush();

  std::string folder_;
  TemporaryFile file_;
  uint64_t size_ = 0;
  std::vector<char> buffer_;
};

}  // namespace fwl
