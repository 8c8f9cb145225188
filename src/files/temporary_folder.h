// A private temporary folder, removed with everything in it.
#pragma once

#include <string>

#include "files/file_lock.h"

namespace fwl {

class TemporaryFolder {
 public:
  // In `parent`, named `prefix` and random letters. Removes those of processes that were killed.
  TemporaryFolder(const std::string& parent, const std::string& prefix);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  FileLock lock_;  // as long as the folder is in use
};

}  // namespace fwl
