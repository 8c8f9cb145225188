// What is in a model file, as JSON: for `fwl inspect`, for its --json, and for Python.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "files/gguf.h"
#include "files/huggingface_folder.h"
#include "files/safetensors.h"

namespace fwl {

// Each gives "format", "metadata", "tensors" (name, type, shape, values, bytes) and "totals". Arrays of metadata that
// are longer than `longest_array` become {"kind", "count", "first"}.
nlohmann::json describe(const GgufFile& file, size_t longest_array);
nlohmann::json describe(const SafetensorsFile& file);
nlohmann::json describe(const HuggingFaceFolder& folder);

}  // namespace fwl
