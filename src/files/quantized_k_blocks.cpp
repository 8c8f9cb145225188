// The K types: blocks of 256 values in groups of 16 or 32, each with a small integer scale.
#include "files/quantized_blocks.h"

namespace fwl {
namespace {

constexpr int block = 256;
constexpr int group = 32;  // values that share a shift

// The 6-bit scales and minimums of the eight groups of Q4_K and Q5_K, packed in 12 bytes.
struct GroupScales {
  float scale[8];
  float minimum[8];
};

GroupScales load_group_scales(const uint8_t* packed, float scale, float minimum) {
  GroupScales out;
  for (int i = 0; i < 4; ++i) {
    const uint32_t a = packed[i], b = packed[4 + i], c = packed[8 + i];
    out.scale[i] = scale * static_cast<float>(a & 63U);
    out.minimum[i] = minimum * static_cast<float>(b & 63U);
    out.scale[4 + i] = scale * static_cast<float>((c & 15U) | (a >> 2 & 48U));
    out.minimum[4 + i] = minimum * static_cast<float>(c >> 4 | (b >> 2 & 48U));
  }
  return out;
}

// Q4_K: scale, minimum, group scales, 128 bytes of nibbles. Q5_K has the fifth bits between: bit g of byte i is for
// value i of group g.
template <bool has_fifth_bit>
void dequantize_k_nibbles(const uint8_t* bytes, int64_t blocks, float* values) {
  constexpr int nibbles_offset = 4 + 12 + (has_fifth_bit ? group : 0);
  for (int64_t b = 0; b < blocks; ++b, bytes += nibbles_offset + block / 2, values += block) {
    const auto groups = load_group_scales(bytes + 4, load_half(bytes), load_half(bytes + 2));
    const uint8_t* fifth_bits = bytes + 16;
    for (int g = 0; g < 8; ++g) {
      const uint8_t* nibbles = bytes + nibbles_offset + g / 2 * group;
      const float scale = groups.scale[g], minimum = groups.minimum[g];
      const int shift = g % 2 * 4;
      for (int i = 0; i < group; ++i) {
        int packed = nibbles[i] >> shift & 15;
        if constexpr (has_fifth_bit) packed |= (fifth_bits[i] >> g & 1) << 4;
        values[g * group + i] = scale * static_cast<float>(packed) - minimum;
      }
    }
  }
}

}  // namespace

// 16 bytes of 4-bit scales and minimums, 64 bytes of 2-bit values, scale, minimum.
void dequantize_q2_k(const uint8_t* bytes, int64_t blocks, float* values) {
  for (int64_t b = 0; b < blocks; ++b, bytes += 84, values += block) {
    const float scale = load_half(bytes + 80), minimum = load_half(bytes + 82);
    for (int s = 0; s < 16; ++s) {
      const float group_scale = scale * static_cast<float>(bytes[s] & 15);
      const float group_minimum = minimum * static_cast<float>(bytes[s] >> 4);
      const uint8_t* packed = bytes + 16 + s / 8 * 32 + s % 2 * 16;
      const int shift = s / 2 % 4 * 2;
      for (int i = 0; i < 16; ++i)
        values[s * 16 + i] = group_scale * static_cast<float>(packed[i] >> shift & 3) - group_minimum;
    }
  }
}

// 32 bytes of third bits (if set, nothing is subtracted), 64 bytes of 2-bit values, 12 bytes of 6-bit scales, scale.
void dequantize_q3_k(const uint8_t* bytes, int64_t blocks, float* values) {
  for (int64_t b = 0; b < blocks; ++b, bytes += 110, values += block) {
    const float scale = load_half(bytes + 108);
    const uint8_t* scales = bytes + 96;
    for (int s = 0; s < 16; ++s) {
      const int low = s < 8 ? scales[s] & 15 : scales[s - 8] >> 4;
      const int high = scales[8 + s % 4] >> s / 4 * 2 & 3;
      const float group_scale = scale * static_cast<float>((low | high << 4) - 32);
      const uint8_t* third_bits = bytes + s % 2 * 16;
      const uint8_t* packed = bytes + 32 + s / 8 * 32 + s % 2 * 16;
      const int shift = s / 2 % 4 * 2, bit = s / 2;
      for (int i = 0; i < 16; ++i) {
        const int value = (packed[i] >> shift & 3) - (~third_bits[i] >> bit & 1) * 4;
        values[s * 16 + i] = group_scale * static_cast<float>(value);
      }
    }
  }
}

void dequantize_q4_k(const uint8_t* bytes, int64_t blocks, float* values) {
  dequantize_k_nibbles<false>(bytes, blocks, values);
}

void dequantize_q5_k(const uint8_t* bytes, int64_t blocks, float* values) {
  dequantize_k_nibbles<true>(bytes, blocks, values);
}

// 128 bytes of low nibbles, 64 bytes of upper two bits, 16 signed scales, scale.
void dequantize_q6_k(const uint8_t* bytes, int64_t blocks, float* values) {
  for (int64_t b = 0; b < blocks; ++b, bytes += 210, values += block) {
    const float scale = load_half(bytes + 208);
    for (int s = 0; s < 16; ++s) {
      const float group_scale = scale * static_cast<float>(static_cast<int8_t>(bytes[192 + s]));
      const int half = s / 8, quarter = s / 2 % 4, part = s % 2 * 16;
      const uint8_t* low = bytes + half * 64 + quarter % 2 * 32 + part;
      const uint8_t* high = bytes + 128 + half * 32 + part;
      const int low_shift = quarter / 2 * 4, high_shift = quarter * 2;
      for (int i = 0; i < 16; ++i) {
        const int value = ((low[i] >> low_shift & 15) | (high[i] >> high_shift & 3) << 4) - 32;
        values[s * 16 + i] = group_scale * static_cast<float>(value);
      }
    }
  }
}

}  // namespace fwl
