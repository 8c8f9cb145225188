// Small safetensors files made in memory, for tests and as a start for fuzzing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fwl {

// Header and data put together as they are: broken files are as easy as good ones.
inline std::string make_safetensors(std::string_view header, std::string_view data) {
  const uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes.append(header).append(data);
}

inline std::string sample_safetensors() {
  return make_safetensors(
      R"({"__metadata__":{"format":"pt","note":"\u00e9"},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[24,30]},"none":{"dtype":"I64","shape":[0,4],"data_offsets":[30,30]},)"
      R"("s":{"dtype":"U8","shape":[],"data_offsets":[30,31]}})",
      "0123456789abcdefghijklmnopqrstu");
}

}  // namespace fwl
