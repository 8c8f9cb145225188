// Where an output goes: links are followed, and only regular files are replaced.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace fwl {

struct OutputTarget {
  std::string path;                  // behind all links
  std::optional<struct stat> known;  // of the file that is there already
};

// Throws a UserError for anything but a regular file or a new name: a folder, device, FIFO or socket is left alone.
OutputTarget output_target(const std::string& path);

}  // namespace fwl
