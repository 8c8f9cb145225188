// Streams single members of untrusted archives (zip, tar, compressed or not).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace fwl {

using ByteSink = std::function<void(std::span<const char>)>;

// Passes the content of `member` to `sink`. Paths in the archive are compared, never used as paths. Throws a UserError
// if the member is missing, larger than `largest_bytes` or not a regular file.
void read_archive_member(const std::string& archive_path, const std::string& member, int64_t largest_bytes,
                         const ByteSink& sink);

// The same for a single compressed file such as a.gz.
void read_compressed_file(const std::string& path, int64_t largest_bytes, const ByteSink& sink);

}  // namespace fwl
