// Transformer-XL models from Hugging Face folders.
#pragma once

#include <memory>

#include "base/transformer_xl.h"
#include "files/huggingface_folder.h"

namespace fwl {

std::shared_ptr<TransformerXl> import_transformer_xl(const std::shared_ptr<const HuggingFaceFolder>& folder);

}  // namespace fwl
