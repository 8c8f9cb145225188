// Element types of safetensors files.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace fwl {

// From the widest to the narrowest: files are written in this order, so that every tensor is aligned to its elements.
enum class Dtype { F64, I64, U64, F32, I32, U32, F16, BF16, I16, U16, F8_E4M3, F8_E5M2, F8_E8M0, I8, U8, BOOL };

std::string_view to_string(Dtype dtype);
size_t bytes_of(Dtype dtype);
std::optional<Dtype> find_dtype(std::string_view name);

}  // namespace fwl
