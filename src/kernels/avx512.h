// AVX-512 (F, BW, VL, DQ) for loops that are templates of the instruction set.
#pragma once

#include "kernels/row_formats.h"

namespace fwl {

struct Avx512 {
  using Vector = __m512;
  static constexpr int lanes = 16;

  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector set(float value) { return _mm512_set1_ps(value); }
  static Vector load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Vector values) { _mm512_storeu_ps(to, values); }
  static Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static Vector multiply(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
  static Vector multiply_add(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  static float sum(Vector values) { return _mm512_reduce_add_ps(values); }

  static Vector load(Single, const uint8_t* from) { return _mm512_loadu_ps(from); }
  static Vector load(Half, const uint8_t* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static Vector load(Bf16, const uint8_t* from) {
    const __m256i upper = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(upper), 16));
  }
  template <int part>
  static Vector floats_of_bytes(__m256i bytes) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm256_extracti128_si256(bytes, part)));
  }
  static __m256i byte_products(__m256i unsigned_bytes, __m256i signed_bytes) {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(unsigned_bytes, signed_bytes), _mm256_set1_epi16(1));
  }
};

}  // namespace fwl
