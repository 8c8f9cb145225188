// Describes model files as JSON, for `fwl inspect` and for Python.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "files/gguf.h"
#include "files/huggingface_folder.h"
#include "files/safetensors.h"

namespace fwl {

// Returns "format", "metadata", "tensors" (name, type, shape, values, bytes) and "totals". Metadata arrays longer than
// `longest_array` become {"kind", "count", "first"}.
nlohmann::json describe(const GgufFile& file, size_t longest_array);
nlohmann::json describe(const SafetensorsFile& file);
nlohmann::json describe(const HuggingFaceFolder& folder);

}  // namespace fwl
