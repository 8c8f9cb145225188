#include "files/quantized_blocks.h"

namespace fwl {
namespace {

constexpr int block = 32;
constexpr int half_block = block / 2;

// Blocks of 32 values: a half scale, optionally a half minimum, optionally 32 fifth bits, then 16 bytes of nibbles. The
// low nibbles are the first 16 values.
template <bool has_minimum, bool has_fifth_bit>
void dequantize_nibbles(const uint8_t* bytes, int64_t blocks, float* values) {
  constexpr int bits_offset = has_minimum ? 4 : 2;
  constexpr int nibbles_offset = bits_offset + (has_fifth_bit ? 4 : 0);
  constexpr int zero = has_minimum ? 0 : has_fifth_bit ? 16 : 8;
  for (int64_t b = 0; b < blocks; ++b, bytes += nibbles_offset + half_block, values += block) {
    const float scale = load_half(bytes);
    const float minimum = has_minimum ? load_half(bytes + 2) : 0;
    uint32_t fifth_bits = 0;
    if constexpr (has_fifth_bit) std::memcpy(&fifth_bits, bytes + bits_offset, sizeof fifth_bits);
    const uint8_t* nibbles = bytes + nibbles_offset;
    const auto value_of = [&](uint32_t nibble, int i) {
      const uint32_t packed = has_fifth_bit ? nibble | (fifth_bits >> i & 1U) << 4 : nibble;
      const float product = scale * static_cast<float>(static_cast<int>(packed) - zero);
      return has_minimum ? product + minimum : product;
    };
    for (int i = 0; i < half_block; ++i) values[i] = value_of(nibbles[i] & 15U, i);
    for (int i = 0; i < half_block; ++i) values[half_block + i] = value_of(nibbles[i] >> 4U, half_block + i);
  }
}

}  // namespace

void dequantize_f32(const uint8_t* bytes, int64_t blocks, float* values) {
  std::memcpy(values, bytes, static_cast<size_t>(blocks) * sizeof(float));
}

void dequantize_f16(const uint8_t* bytes, int64_t blocks, float* values) {
  for (int64_t i = 0; i < blocks; ++i) values[i] = load_half(bytes + 2 * i);
}

void dequantize_bf16(const uint8_t* bytes, int64_t blocks, float* values) {
  for (int64_t i = 0; i < blocks; ++i) {
    uint16_t upper;
    std::memcpy(&upper, bytes + 2 * i, sizeof upper);
    values[i] = std::bit_cast<float>(static_cast<uint32_t>(upper) << 16);
  }
}

void dequantize_q4_0(const uint8_t* bytes, int64_t blocks, float* values) {
  dequantize_nibbles<false, false>(bytes, blocks, values);
}

void dequantize_q4_1(const uint8_t* bytes, int64_t blocks, float* values) {
  dequantize_nibbles<true, false>(bytes, blocks, values);
}

void dequantize_q5_0(const uint8_t* bytes, int64_t blocks, float* values) {
  dequantize_nibbles<false, true>(bytes, blocks, values);
}

void dequantize_q5_1(const uint8_t* bytes, int64_t blocks, float* values) {
  dequantize_nibbles<true, true>(bytes, blocks, values);
}

void dequantize_q8_0(const uint8_t* bytes, int64_t blocks, float* values) {
  for (int64_t b = 0; b < blocks; ++b, bytes += 2 + block, values += block) {
    const float scale = load_half(bytes);
    for (int i = 0; i < block; ++i) values[i] = scale * static_cast<float>(static_cast<int8_t>(bytes[2 + i]));
  }
}

}  // namespace fwl
