// Opens any language model: one trained here, or a published one, with or without an adapter.
#pragma once

#include <memory>
#include <string>

#include "model/language_model.h"
#include "weights/published_weights.h"
#include "support/progress.h"

namespace fwl {

struct OpenedModel {
  std::shared_ptr<LanguageModel> model;
  std::string identity;       // names model and adapter by their hashes, for sessions
  int64_t window_tokens = 0;  // the base's context as the adapter was trained with it; 0: not known
  // The longest text that the fast weights are known to bear; 0: any, because they decay or correct themselves.
  int64_t safe_tokens = 0;
  std::string objective;  // what a model trained here, or the adapter, was trained on; empty: a plain base
};

// `adapter` may be empty.
OpenedModel open_model(const std::string& path, const std::string& adapter = {},
                       WeightFormat format = WeightFormat::quantized, const ProgressReport& progress = {});

}  // namespace fwl
