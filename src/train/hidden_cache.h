// Caches a frozen base model's hidden states of a text on disk, in bf16.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "base/base_model.h"
#include "data/token_file.h"
#include "files/memory_map.h"
#include "support/progress.h"

namespace fwl {

struct HiddenCacheKey {
  std::string base_hash;
  std::string data_hash;
  int64_t tokens = 0;         // positions: all but the text's last
  int64_t width = 0;          // D
  int64_t window_tokens = 0;  // the base restarts with every window
};

// Reads windows in order and continues where an interrupted run stopped. Files: `path` and `path`.json.
void fill_hidden_cache(const std::string& path, const HiddenCacheKey& key, const BaseModel& base,
                       const TokenView& tokens, const ProgressReport& progress);

class HiddenCache {
 public:
  HiddenCache(const std::string& path, const HiddenCacheKey& key);  // throws a UserError if it is incomplete

  // Positions [first, first + count) as float.   count,D
  at::Tensor read(int64_t first, int64_t count) const;

 private:
  MemoryMap map_;
  HiddenCacheKey key_;
};

}  // namespace fwl
