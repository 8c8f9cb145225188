// A lock on a file or folder, so that one process at a time writes it; an error says who holds it.
#pragma once

#include <optional>
#include <string>

#include "files/range_lock.h"

namespace fwl {

// The lock is on a small file beside the locked one (in a folder: .lock), which says who holds it (by default process,
// host and command) and is removed afterwards. The kernel releases it however the process ends.
class FileLock {
 public:
  FileLock() = default;                                                             // locks nothing
  explicit FileLock(const std::string& path, LockKind kind = LockKind::exclusive);  // throws a UserError if it is held
  static std::optional<FileLock> try_take(const std::string& path, LockKind kind, const std::string& holder = {});
  static std::string holder_of(const std::string& path);  // what the holder says; empty: nothing
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;

  void share();  // turns an exclusive lock into a shared one

 private:
  bool take(LockKind kind, const std::string& holder);
  bool has_its_name() const;

  std::string path_;  // of the file with the lock
  int file_ = -1;
};

}  // namespace fwl
