// GPT-2 models from Hugging Face folders.
#pragma once

#include <memory>

#include "base/gpt2.h"
#include "store/published_weights.h"

namespace fwl {

std::shared_ptr<Gpt2> import_gpt2(const std::shared_ptr<const HuggingFaceFolder>& folder, WeightFormat format);

}  // namespace fwl
