// AVX2 for loops that are templates of the instruction set.
#pragma once

#include "kernels/row_formats.h"

namespace fwl {

struct Avx2 {
  using Vector = __m256;
  static constexpr int lanes = 8;

  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector set(float value) { return _mm256_set1_ps(value); }
  static Vector load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Vector values) { _mm256_storeu_ps(to, values); }
  static Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
  static Vector multiply(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
  static Vector multiply_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  static float sum(Vector values) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
  }

  static Vector load(Single, const uint8_t* from) { return _mm256_loadu_ps(reinterpret_cast<const float*>(from)); }
  static Vector load(Half, const uint8_t* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static Vector load(Bf16, const uint8_t* from) {
    const __m128i upper = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(upper), 16));
  }
  template <int part>
  static Vector floats_of_bytes(__m256i bytes) {
    const __m128i half = _mm256_extracti128_si256(bytes, part / 2);
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(part % 2 == 0 ? half : _mm_srli_si128(half, 8)));
  }
  // No sum of two products may exceed 16 bits: one factor is at most 128, or both are the integers of a format.
  static __m256i byte_products(__m256i unsigned_bytes, __m256i signed_bytes) {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(unsigned_bytes, signed_bytes), _mm256_set1_epi16(1));
  }
};

}  // namespace fwl
