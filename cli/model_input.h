// The model that a command runs: path, adapter, threads and device.
#pragma once

#include <string>

#include "cli/console.h"
#include "cli/engine_flags.h"
#include "store/open_model.h"

namespace fwl {

struct ModelInput {
  std::string model, adapter;
  EngineFlags engine;
  HeadOptions head;
  BlockConfig blocks;  // untrained memories in the blocks
};

void add_fields(Fields& fields, ModelInput& input);

// Replaces names by paths; see cli/model_name.h.
void find_paths(ModelInput& input, Console& console);

// Sets threads, and opens the model with its vocabulary on its device.
OpenedModel open_with_vocabulary(const ModelInput& input, WeightFormat format, Console& console);

}  // namespace fwl
