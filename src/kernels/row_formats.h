// How the types of quantised rows store groups of 32 values, for kernels that have at least AVX2. Everything is a
// template of the instruction set, so that code compiled for one is never linked into another.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace fwl {

// The plain numbers of rows that are not quantised.
struct Single {
  static constexpr int bytes = 4;
};
struct Half {
  static constexpr int bytes = 2;
};
struct Bf16 {
  static constexpr int bytes = 2;
};

// value = scale * integer + minimum, with one scale for each half of the group.
struct ByteGroup {
  __m256i integers;  // 32 signed bytes
  float first_scale, second_scale, minimum;
};

template <class Isa>
struct GroupBits {
  static __m256i load(const uint8_t* bytes) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)); }
  static uint32_t word(const uint8_t* bytes) {
    uint32_t bits;
    __builtin_memcpy(&bits, bytes, sizeof bits);
    return bits;
  }
  static float half(const uint8_t* bytes) {
    uint16_t bits;
    __builtin_memcpy(&bits, bytes, sizeof bits);
    return _cvtsh_ss(bits);
  }
  // 16 bytes of nibbles: the low ones first.
  static __m256i nibbles(const uint8_t* bytes) {
    const __m128i both = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(both, 4), both), _mm256_set1_epi8(15));
  }
  // Bit i of a word to byte i, as 16 or 0.
  static __m256i fifth_bits(uint32_t bits) {
    const __m256i which_byte = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i own_bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201ULL));
    const __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)), which_byte);
    const __m256i is_set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, own_bit), own_bit);
    return _mm256_and_si256(is_set, _mm256_set1_epi8(16));
  }
  // Bits shift … shift + 1 or more of every byte.
  static __m256i bits_of_bytes(__m256i bytes, int shift, int mask) {
    return _mm256_and_si256(_mm256_srl_epi16(bytes, _mm_cvtsi32_si128(shift)),
                            _mm256_set1_epi8(static_cast<char>(mask)));
  }
};

// Every format has `groups` per block of `bytes`; a Block holds what its groups share.
template <class Isa, bool has_minimum, bool has_fifth_bit>
struct NibbleFormat {
  static constexpr int groups = 1, bytes = 18 + (has_minimum ? 2 : 0) + (has_fifth_bit ? 4 : 0);
  static constexpr bool is_unsigned = has_minimum, adds_minimum = has_minimum;
  using Bits = GroupBits<Isa>;

  explicit NibbleFormat(const uint8_t* start) : block(start) {}
  ByteGroup group(int) const {
    constexpr int bits_at = has_minimum ? 4 : 2, nibbles_at = bits_at + (has_fifth_bit ? 4 : 0);
    __m256i integers = Bits::nibbles(block + nibbles_at);
    if constexpr (has_fifth_bit) integers = _mm256_or_si256(integers, Bits::fifth_bits(Bits::word(block + bits_at)));
    if constexpr (!has_minimum) integers = _mm256_sub_epi8(integers, _mm256_set1_epi8(has_fifth_bit ? 16 : 8));
    const float scale = Bits::half(block);
    return {integers, scale, scale, has_minimum ? Bits::half(block + 2) : 0.0F};
  }
  const uint8_t* block;
};
template <class Isa>
using Q4_0 = NibbleFormat<Isa, false, false>;
template <class Isa>
using Q4_1 = NibbleFormat<Isa, true, false>;
template <class Isa>
using Q5_0 = NibbleFormat<Isa, false, true>;
template <class Isa>
using Q5_1 = NibbleFormat<Isa, true, true>;

template <class Isa>
struct Q8_0 {
  static constexpr int groups = 1, bytes = 34;
  static constexpr bool is_unsigned = false, adds_minimum = false;

  explicit Q8_0(const uint8_t* start) : block(start) {}
  ByteGroup group(int) const {
    const float scale = GroupBits<Isa>::half(block);
    return {GroupBits<Isa>::load(block + 2), scale, scale, 0};
  }
  const uint8_t* block;
};

// Q4_K and Q5_K: scale, minimum, 12 bytes with the 6-bit scales and minimums of 8 groups, 32 bytes of fifth bits (bit g
// of byte i is for value i of group g), nibbles.
template <class Isa, bool has_fifth_bit>
struct KNibbleFormat {
  static constexpr int groups = 8, bytes = 144 + (has_fifth_bit ? 32 : 0);
  static constexpr bool is_unsigned = true, adds_minimum = true;
  using Bits = GroupBits<Isa>;

  explicit KNibbleFormat(const uint8_t* start) : block(start) {
    const uint32_t a = Bits::word(start + 4), b = Bits::word(start + 8), c = Bits::word(start + 12);
    constexpr uint32_t six = 0x3F3F3F3FU, four = 0x0F0F0F0FU, two = 0x30303030U;
    store(scales, a & six, (c & four) | ((a >> 2) & two), Bits::half(start));
    store(minimums, b & six, ((c >> 4) & four) | ((b >> 2) & two), -Bits::half(start + 2));
  }
  ByteGroup group(int index) const {
    const uint8_t* nibbles = block + 16 + (has_fifth_bit ? 32 : 0) + index / 2 * 32;
    __m256i integers = Bits::bits_of_bytes(Bits::load(nibbles), index % 2 * 4, 15);
    if constexpr (has_fifth_bit) {
      const __m256i own_bit = _mm256_set1_epi8(static_cast<char>(1 << index));
      const __m256i is_set = _mm256_cmpeq_epi8(_mm256_and_si256(Bits::load(block + 16), own_bit), own_bit);
      integers = _mm256_or_si256(integers, _mm256_and_si256(is_set, _mm256_set1_epi8(16)));
    }
    return {integers, scales[index], scales[index], minimums[index]};
  }

  static void store(float* out, uint32_t first, uint32_t last, float factor) {
    const __m128i packed = _mm_set_epi32(0, 0, static_cast<int>(last), static_cast<int>(first));
    _mm256_storeu_ps(out, _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(packed)), _mm256_set1_ps(factor)));
  }
  const uint8_t* block;
  float scales[8], minimums[8];
};
template <class Isa>
using Q4_K = KNibbleFormat<Isa, false>;
template <class Isa>
using Q5_K = KNibbleFormat<Isa, true>;

// 128 bytes of low nibbles, 64 of the upper two bits, 16 signed scales, scale.
template <class Isa>
struct Q6_K {
  static constexpr int groups = 8, bytes = 210;
  static constexpr bool is_unsigned = false, adds_minimum = false;
  using Bits = GroupBits<Isa>;

  explicit Q6_K(const uint8_t* start) : block(start) {
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(start + 192));
    const __m256 scale = _mm256_set1_ps(Bits::half(start + 208));
    _mm256_storeu_ps(scales, _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(packed)), scale));
    _mm256_storeu_ps(scales + 8,
                     _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(packed, 8))), scale));
  }
  ByteGroup group(int index) const {
    const int half = index / 4, quarter = index % 4;
    const __m256i low = Bits::bits_of_bytes(Bits::load(block + half * 64 + quarter % 2 * 32), quarter / 2 * 4, 15);
    const __m256i high = Bits::bits_of_bytes(Bits::load(block + 128 + half * 32), quarter * 2, 3);
    const __m256i integers = _mm256_sub_epi8(_mm256_or_si256(low, _mm256_slli_epi16(high, 4)), _mm256_set1_epi8(32));
    return {integers, scales[2 * index], scales[2 * index + 1], 0};
  }
  const uint8_t* block;
  float scales[16];
};

}  // namespace fwl
