#include "files/dtype.h"

#include <algorithm>
#include <iterator>

namespace fwl {
namespace {

struct DtypeInfo {
  std::string_view name;
  size_t bytes;
};

// In the order of the enumeration.
constexpr DtypeInfo dtypes[] = {{"F64", 8},     {"I64", 8},  {"U64", 8}, {"F32", 4}, {"I32", 4},     {"U32", 4},
                                {"F16", 2},     {"BF16", 2}, {"I16", 2}, {"U16", 2}, {"F8_E4M3", 1}, {"F8_E5M2", 1},
                                {"F8_E8M0", 1}, {"I8", 1},   {"U8", 1},  {"BOOL", 1}};

}  // namespace

std::string_view to_string(Dtype dtype) {
  return dtypes[static_cast<size_t>(dtype)].name;
}

size_t bytes_of(Dtype dtype) {
  return dtypes[static_cast<size_t>(dtype)].bytes;
}

std::optional<Dtype> find_dtype(std::string_view name) {
  const auto* found = std::ranges::find(dtypes, name, &DtypeInfo::name);
  if (found == std::end(dtypes)) return std::nullopt;
  return static_cast<Dtype>(found - dtypes);
}

}  // namespace fwl
