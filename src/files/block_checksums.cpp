#include "files/block_checksums.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.h"

namespace fwl {

void BlockHasher::update(const void* bytes, size_t count) {
  const auto* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const auto part = std::min<uint64_t>(count, block_bytes_ - in_block_);
    hash_.update(next, part);
    next += part;
    count -= part;
    in_block_ += part;
    if (in_block_ < block_bytes_) return;
    finish();
  }
}

const std::vector<Digest>& BlockHasher::finish() {
  if (in_block_ > 0) {
    digests_.push_back(hash_.finish());
    hash_ = Sha256();
    in_block_ = 0;
  }
  return digests_;
}

BlockChecksums::BlockChecksums(std::string where, std::span<const std::byte> bytes, uint64_t block_bytes,
                               std::vector<Digest> digests)
    : where_(std::move(where)),
      bytes_(bytes),
      block_bytes_(block_bytes),
      digests_(std::move(digests)),
      is_checked_(std::make_unique<std::atomic<bool>[]>(digests_.size())) {
  if (digests_.size() != block_count(bytes.size(), block_bytes))
    fail(where_, fmt::format("checksums of {} blocks", block_count(bytes.size(), block_bytes)),
         std::to_string(digests_.size()), "the file is damaged");
}

bool BlockChecksums::is_whole(uint64_t block) const {
  const auto first = block * block_bytes_, count = std::min<uint64_t>(block_bytes_, bytes_.size() - first);
  Sha256 hash;
  hash.update(bytes_.data() + first, count);
  return hash.finish() == digests_[block];
}

void BlockChecksums::expect_whole(uint64_t first, uint64_t count) const {
  if (count == 0 || digests_.empty()) return;
  for (auto block = first / block_bytes_; block <= (first + count - 1) / block_bytes_; ++block) {
    if (is_checked_[block].load(std::memory_order_relaxed)) continue;
    if (!is_whole(block))
      fail(where_, "the bytes as they were written", fmt::format("others from byte {} on", block * block_bytes_),
           "the file is damaged");
    is_checked_[block].store(true, std::memory_order_relaxed);
  }
}

}  // namespace fwl
