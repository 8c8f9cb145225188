// A private temporary file: without a name where the file system allows it, so that it vanishes with the process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fwl {

enum class Naming { none_if_possible, always };  // always: as on file systems that have no files without names

class TemporaryFile {
 public:
  // On the disk of `folder` (empty: the current one); `where` names it in errors. If it needs a name, that is `prefix`
  // and random letters. It is locked as long as it is open: this tells it from the remains of a killed process.
  TemporaryFile(std::string where, const std::string& folder, std::string prefix = ".fwl-temporary.",
                mode_t mode = 0600, Naming naming = Naming::none_if_possible);
  ~TemporaryFile();  // nothing is left of it, unless it was renamed
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  int descriptor() const { return file_; }
  void write_at(uint64_t offset, const void* bytes, size_t count);
  void rename_to(const std::string& path);  // on the same disk; replaces what is there

 private:
  void open_named(mode_t mode);
  bool has_its_name() const;

  std::string where_, folder_, prefix_;
  std::string name_;  // empty: none
  int file_ = -1;
};

// The folder for temporary files: $TMPDIR, or /tmp.
std::string temporary_folder();

// Removes temporary files with this part in their names that nobody locks: their processes have ended, in whatever PID
// namespace they ran.
void remove_stale_files(const std::string& folder, std::string_view part);

}  // namespace fwl
