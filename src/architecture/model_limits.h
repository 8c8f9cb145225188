// Checks the sizes that a published model claims against the tensors that it has, before anything is allocated.
#pragma once

#include "files/gguf.h"
#include "files/huggingface_folder.h"

namespace fwl {

// For every architecture: no tensor is empty, no size exceeds what the tensors can hold, the context is at least two
// tokens. Whether a tensor has the shape that the architecture asks of it is checked when it is asked for.
void check_model_sizes(const GgufFile& file);
void check_model_sizes(const HuggingFaceFolder& folder);

}  // namespace fwl
