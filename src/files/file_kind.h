// What a name in the file system stands for, in words for errors.
#pragma once

#include <sys/stat.h>

namespace fwl {

inline const char* file_kind(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  if (S_ISFIFO(mode)) return "a FIFO";
  return S_ISSOCK(mode) ? "a socket" : "a file";
}

}  // namespace fwl
