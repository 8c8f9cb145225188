// Parses the JSON header of a safetensors file strictly, without building a JSON tree.
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
  uint64_t begin = 0, end = 0;  // from the start of the data; not checked yet
};

struct SafetensorsHeader {
  TextMap metadata;
  std::vector<SafetensorsEntry> tensors;  // names are unique
};

SafetensorsHeader parse_safetensors_header(const std::string& where, std::string_view json);

}  // namespace fwl
