// Writes a file atomically: to a temporary file beside it, which is flushed to disk and then renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fwl {

class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();  // without commit(): removes the temporary file and leaves an existing file unchanged
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, size_t count);  // buffered; throws UserError, e.g. when the disk is full
  void write(std::string_view text) { write(text.data(), text.size()); }
  void write_at(uint64_t offset, const void* bytes, size_t count);  // overwrites bytes written before, e.g. a header
  uint64_t size() const { return size_; }

  void commit();  // fsync, rename, fsync of the folder

 private:
  void flush();

  std::string path_;
  std::string partial_path_;
  int file_ = -1;
  uint64_t size_ = 0;
  std::vector<char> buffer_;
};

void write_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace fwl
