// Writes a file atomically: to a temporary file, which is flushed to disk and then takes the name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/memory_map.h"
#include "files/output_target.h"
#include "files/temporary_file.h"

namespace fwl {

// In the name of a file that is not complete yet, where the file system has no files without names.
inline constexpr const char* partial_mark = ".partial.";

class AtomicFile {
 public:
  // Follows links, keeps mode and owner of a file that is there, and replaces nothing but regular files.
  explicit AtomicFile(const std::string& path);
  AtomicFile();  // a file without a name in the folder for temporary files: for map()

  void write(const void* bytes, size_t count);  // buffered; throws UserError, e.g. when the disk is full
  void write(std::string_view text) { write(text.data(), text.size()); }
  void write_at(uint64_t offset, const void* bytes, size_t count);  // overwrites bytes written before, e.g. a header
  uint64_t size() const { return size_; }

  void commit();  // fsync, rename, fsync of the folder; without it an existing file is unchanged, and no other is left
  MemoryMap map() const;  // after commit()

 private:
  AtomicFile(const std::string& path, OutputTarget target);
  void flush();
  void keep_mode_and_owner();

  std::string path_;  // as in errors; empty: it gets no name
  OutputTarget target_;
  TemporaryFile file_;
  uint64_t size_ = 0;
  std::vector<char> buffer_;
};

void write_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace fwl
