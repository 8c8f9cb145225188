// The dequantisation loops behind quantized.h: `blocks` whole blocks from `bytes` to `values`.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace fwl {

using DequantizeBlocks = void(const uint8_t* bytes, int64_t blocks, float* values);

DequantizeBlocks dequantize_f32, dequantize_f16, dequantize_bf16, dequantize_q4_0, dequantize_q4_1, dequantize_q5_0,
    dequantize_q5_1, dequantize_q8_0;
DequantizeBlocks dequantize_q2_k, dequantize_q3_k, dequantize_q4_k, dequantize_q5_k, dequantize_q6_k;

// IEEE half to single. Subnormal halves become normal floats without passing through subnormal floats, so that a CPU
// set to flush those still gives the exact value.
inline float half_to_float(uint16_t half) {
  constexpr uint32_t rebias = 112U << 23, smallest_normal = 113U << 23;
  const uint32_t magnitude = (half & 0x7FFFU) << 13;
  const uint32_t exponent = half & 0x7C00U;
  const float subnormal = std::bit_cast<float>(magnitude + smallest_normal) - std::bit_cast<float>(smallest_normal);
  const uint32_t normal = magnitude + rebias + (exponent == 0x7C00U ? rebias : 0);
  const uint32_t bits = exponent == 0 ? std::bit_cast<uint32_t>(subnormal) : normal;
  return std::bit_cast<float>(bits | (half & 0x8000U) << 16);
}

inline float load_half(const uint8_t* bytes) {
  uint16_t half;
  std::memcpy(&half, bytes, sizeof half);
  return half_to_float(half);
}

}  // namespace fwl
