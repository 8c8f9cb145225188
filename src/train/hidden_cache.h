// Caches a frozen base model's hidden states of a text on disk, in bf16.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "base/base_model.h"
#include "data/token_file.h"
#include "files/block_checksums.h"
#include "files/file_lock.h"
#include "files/memory_map.h"
#include "parallel/rank_group.h"
#include "support/progress.h"

namespace fwl {

struct HiddenCacheKey {
  std::string base_hash;
  std::string data_hash;
  int64_t tokens = 0;         // positions: all but the text's last
  int64_t width = 0;          // D
  int64_t window_tokens = 0;  // the base restarts with every window
};

// Reads windows, one per rank at a time, and continues where an interrupted run stopped; the first rank writes. Files:
// `path` and `path`.json, which holds the checksums. Returns a lock under which others may read the cache but not
// change it.
FileLock fill_hidden_cache(const std::string& path, const HiddenCacheKey& key, const BaseModel& base,
                           const TokenView& tokens, RankGroup& ranks, const ProgressReport& progress);

class HiddenCache {
 public:
  // Throws a UserError if it is incomplete.
  HiddenCache(const std::string& path, const HiddenCacheKey& key, FileLock lock);

  // Positions [first, first + count) as float, checked against their checksums.   count,D
  at::Tensor read(int64_t first, int64_t count) const;

 private:
  FileLock lock_;
  MemoryMap map_;
  HiddenCacheKey key_;
  BlockChecksums blocks_;
};

}  // namespace fwl
