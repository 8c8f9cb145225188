// Settings of the memories in the blocks.
#pragma once

#include <memory>
#include <string>

#include "base/base_model.h"
#include "blocks/block_memory.h"

namespace fwl {

class Fields;

struct BlockConfig {
  std::string at = "none";  // all, last-half, first-half, head, none, or numbers and ranges: 3,7,12-29
  int64_t rank = 64;        // R
  int64_t chunk_tokens = 128, warmup_chunks = 4;
  double step = 1.5;
  double decay = 0;  // per chunk; 0: none
  double max_update = 0.3;
  std::string rule = "plain";
  double momentum = 0.5;
  int64_t passes = 1;
  bool has_token_rates = false;
  bool has_start = false;  // W starts from learned values

  bool is_present() const { return at != "none"; }
  std::string description() const;  // every setting, for identities
  // With random keys, always the same ones; null for "none".
  std::shared_ptr<const BlockMemory> untrained(const BaseModel& base) const;
  // For a base of these sizes; null for "none".
  std::shared_ptr<const BlockMemory> make(int64_t base_blocks, int64_t hidden_size, WeightSource& source,
                                          bool is_first_order = false) const;
};

void add_fields(Fields& fields, BlockConfig& config);

// Which blocks a text like "last-half" or "3,7,12-29" names, in ascending order.
std::vector<int64_t> named_blocks(const std::string& text, int64_t base_blocks);

}  // namespace fwl
