// Adapters: a memory for somebody else's model, in a small folder that names its base by hash.
#pragma once

#include <memory>
#include <string>

#include "memory/memory_config.h"
#include "model/language_model.h"
#include "support/progress.h"

namespace fwl {

struct AdapterDescription {
  std::string base_name, base_hash, base_architecture;
  int64_t base_hidden_size = 0;
  int64_t window_tokens = 0;  // the base reads texts in windows of so many tokens; the fast weights go on
  std::string objective = "fwl";
  MemoryChoice memory;
};

void add_fields(Fields& fields, AdapterDescription& description);

// SHA-256 over the weights: of a GGUF file as it is, of a folder over config.json and every shard.
std::string model_hash(const std::string& path, const ProgressReport& progress = {});

void save_adapter(const FastMemory& memory, const AdapterDescription& description, const std::string& folder);

struct OpenedAdapter {
  std::shared_ptr<const FastMemory> memory;
  AdapterDescription description;
};
// Refuses an adapter that was made for another base than the one at `base_path`.
OpenedAdapter open_adapter(const std::string& folder, const std::string& base_path, const BaseModel& base,
                           const ProgressReport& progress = {});

}  // namespace fwl
