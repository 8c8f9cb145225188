// Adapters: fast weights for a published model, in a small folder that names its base by hash.
#pragma once

#include <memory>
#include <string>

#include "blocks/block_config.h"
#include "memory/memory_config.h"
#include "model/language_model.h"
#include "support/progress.h"

namespace fwl {

struct AdapterDescription {
  std::string base_name, base_hash, base_architecture;
  int64_t base_hidden_size = 0;
  int64_t window_tokens = 0;  // context of the base in training; fast weights carry across windows
  std::string objective = "fwl";
  MemoryChoice memory;
  BlockConfig blocks;
  std::string weights_hash = {};  // of adapter.safetensors; empty: that file holds its own checksum
};

void add_fields(Fields& fields, AdapterDescription& description);

// SHA-256 of a GGUF file, or over config.json and all shards of a folder.
std::string model_hash(const std::string& path, const ProgressReport& progress = {});

// The fast weights of a model: on top, in its blocks, or both.
void save_adapter(const NamedTensors& fast_parameters, const AdapterDescription& description,
                  const std::string& folder);

AdapterDescription read_adapter_description(const std::string& folder);
// The file with the weights of an adapter, its checksum right.
SafetensorsFile open_adapter_weights(const std::string& folder);

struct OpenedAdapter {
  std::shared_ptr<const FastMemory> memory;   // null: none
  std::shared_ptr<const BlockMemory> blocks;  // null: none
  AdapterDescription description;
};
// Throws a UserError if the adapter was made for a base other than the one at `base_path`.
OpenedAdapter open_adapter(const std::string& folder, const std::string& base_path, const BaseModel& base,
                           const ProgressReport& progress = {});

}  // namespace fwl
