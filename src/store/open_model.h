// Opens any language model: one trained here, or a published one, with or without an adapter.
#pragma once

#include <memory>
#include <string>

#include "blocks/block_config.h"
#include "model/language_model.h"
#include "support/progress.h"
#include "weights/published_weights.h"

namespace fwl {

struct OpenedModel {
  std::shared_ptr<LanguageModel> model;
  std::string identity;  // hashes of model and adapter, for sessions
  // The longest text on which the fast weights are known to be stable; 0: any length.
  int64_t safe_tokens = 0;
  std::string objective;  // training objective of the model or adapter; empty: a plain base
};

// `adapter` may be empty.
OpenedModel open_model(const std::string& path, const std::string& adapter = {},
                       WeightFormat format = WeightFormat::quantized, const ProgressReport& progress = {});

// The same model with untrained memories in its blocks, of another identity. A UserError if it has memories there.
OpenedModel with_blocks(OpenedModel opened, const BlockConfig& config);

}  // namespace fwl
