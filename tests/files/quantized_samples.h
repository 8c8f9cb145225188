// Random rows of every GGUF type that can be dequantised, with scales of a sensible size.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "files/gguf_type.h"

namespace fwl {

inline const GgufType dequantizable_types[] = {
    GgufType::F32,  GgufType::F16,  GgufType::BF16, GgufType::Q4_0, GgufType::Q4_1, GgufType::Q5_0, GgufType::Q5_1,
    GgufType::Q8_0, GgufType::Q2_K, GgufType::Q3_K, GgufType::Q4_K, GgufType::Q5_K, GgufType::Q6_K};

// Where a block has its scales in half precision.
inline std::vector<size_t> half_offsets(GgufType type) {
  switch (type) {
    case GgufType::Q2_K:
      return {80, 82};
    case GgufType::Q3_K:
      return {108};
    case GgufType::Q6_K:
      return {208};
    case GgufType::Q4_1:
    case GgufType::Q5_1:
    case GgufType::Q4_K:
    case GgufType::Q5_K:
      return {0, 2};
    default:
      return {0};
  }
}

// Any bits but those of the exponent, which are drawn so that numbers lie between 2^-7 and 1/8.
inline void write_number(GgufType type, uint8_t* bytes, std::mt19937& random) {
  const auto draw = static_cast<uint32_t>(random());
  if (type == GgufType::F32 || type == GgufType::BF16) {
    const uint32_t bits = (draw & 0x807FFFFFU) | (120U + draw % 4) << 23;
    const uint32_t used = type == GgufType::F32 ? bits : bits >> 16;
    std::memcpy(bytes, &used, type == GgufType::F32 ? 4 : 2);
  } else {
    const auto bits = static_cast<uint16_t>((draw & 0x83FFU) | (8U + draw % 4) << 10);
    std::memcpy(bytes, &bits, 2);
  }
}

inline std::vector<uint8_t> random_rows(GgufType type, int64_t rows, int64_t columns, uint32_t seed = 1) {
  const auto& [_, name, block_values, block_bytes] = info(type);
  std::mt19937 random(seed);
  const auto blocks = static_cast<size_t>(rows * columns / block_values), size = static_cast<size_t>(block_bytes);
  std::vector<uint8_t> bytes(blocks * size);
  for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
  for (size_t block = 0; block < blocks; ++block)
    for (const size_t offset : half_offsets(type)) write_number(type, bytes.data() + block * size + offset, random);
  return bytes;
}

}  // namespace fwl
