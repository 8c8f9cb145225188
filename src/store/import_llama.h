// Llama models from GGUF files and Hugging Face folders.
#pragma once

#include <memory>

#include "base/llama.h"
#include "store/published_weights.h"

namespace fwl {

std::shared_ptr<Llama> import_llama(const std::shared_ptr<const GgufFile>& file, WeightFormat format);
std::shared_ptr<Llama> import_llama(const std::shared_ptr<const HuggingFaceFolder>& folder, WeightFormat format);

}  // namespace fwl
