// Checksums of a long file by block: each block is checked when it is first read, so that the file opens at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/sha256.h"

namespace fwl {

// Computes the checksums while the bytes are written.
class BlockHasher {
 public:
  explicit BlockHasher(uint64_t block_bytes) : block_bytes_(block_bytes) {}

  void update(const void* bytes, size_t count);
  const std::vector<Digest>& finish();  // with the last block, which may be shorter

 private:
  uint64_t block_bytes_, in_block_ = 0;
  Sha256 hash_;
  std::vector<Digest> digests_;
};

// Checks the bytes of a mapped file; may be used by several threads.
class BlockChecksums {
 public:
  BlockChecksums() = default;
  // `digests` has one entry for each block of `bytes`, which must outlive this object; `where` names the file in
  // errors.
  BlockChecksums(std::string where, std::span<const std::byte> bytes, uint64_t block_bytes,
                 std::vector<Digest> digests);

  // Throws a UserError if a block with any of these bytes is damaged.
  void expect_whole(uint64_t first, uint64_t count) const;

 private:
  bool is_whole(uint64_t block) const;

  std::string where_;
  std::span<const std::byte> bytes_;
  uint64_t block_bytes_ = 1;
  std::vector<Digest> digests_;
  std::unique_ptr<std::atomic<bool>[]> is_checked_;
};

constexpr uint64_t block_count(uint64_t bytes, uint64_t block_bytes) {
  return bytes / block_bytes + (bytes % block_bytes != 0);
}

}  // namespace fwl
