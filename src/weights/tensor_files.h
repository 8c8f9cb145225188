// Reads and writes tensors in safetensors files.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "files/safetensors.h"

namespace fwl {

using TensorMap = std::map<std::string, at::Tensor>;

at::ScalarType to_scalar_type(Dtype dtype);
Dtype to_dtype(at::ScalarType type);

at::Tensor to_tensor(const TensorView& view);  // a copy
TensorMap load_tensors(const SafetensorsFile& file);

// Writes atomically; tensors may be on any device.
void save_tensors(const TensorMap& tensors, const std::string& path, const TextMap& metadata = {});
// The same with the file's checksum, which TensorReader checks.
void save_checked_tensors(const TensorMap& tensors, const std::string& path, TextMap metadata);

}  // namespace fwl
