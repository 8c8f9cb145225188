// Opens any published model as a base model: a GGUF file or a Hugging Face folder.
#pragma once

#include <memory>
#include <string>

#include "base/base_model.h"
#include "weights/published_weights.h"

namespace fwl {

std::shared_ptr<BaseModel> open_base(const std::string& path, WeightFormat format = WeightFormat::quantized);

// Throws UserError unless the architecture that the file or folder names can be opened.
void check_architecture(const std::string& path);

}  // namespace fwl
