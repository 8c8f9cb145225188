// Checksums as published with files: "sha256:…", "sha1:…" or "md5:…".
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "support/progress.h"

namespace fwl {

class Checksum {
 public:
  // The algorithm of a published checksum, e.g. that of "md5:9ddaacaf…".
  explicit Checksum(std::string_view published);
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void update(const void* bytes, size_t count);
  std::string finish();  // in the same form; the object must not be used afterwards

 private:
  struct Context;
  std::string algorithm_;
  std::unique_ptr<Context> context_;
};

// The checksum of a file by the algorithm of `published`.
std::string checksum_of_file(const std::string& path, std::string_view published, const ProgressReport& progress = {});

}  // namespace fwl
