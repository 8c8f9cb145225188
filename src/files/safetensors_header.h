// The JSON header of a safetensors file, read strictly and without building a JSON tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/safetensors.h"

namespace fwl {

struct SafetensorsEntry {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // from the start of the data; any values
};

struct SafetensorsHeader {
  TextMap metadata;
  std::vector<SafetensorsEntry> tensors;  // every name once
};

SafetensorsHeader parse_safetensors_header(const std::string& where, std::string_view json);

}  // namespace fwl
