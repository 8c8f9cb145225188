// Reads single members of archives (zip, tar, compressed or not) that nobody vouches for, as a stream.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace fwl {

using ByteSink = std::function<void(std::span<const char>)>;

// Hands the content of `member` to `sink`. Paths in the archive are only compared, never used; a member larger than
// `largest_bytes`, a missing one, or one that is no plain file is a UserError.
void read_archive_member(const std::string& archive_path, const std::string& member, int64_t largest_bytes,
                         const ByteSink& sink);

// The same for a single compressed file such as a.gz.
void read_compressed_file(const std::string& path, int64_t largest_bytes, const ByteSink& sink);

}  // namespace fwl
