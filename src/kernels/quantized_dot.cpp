#include "kernels/quantized_dot.h"

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "files/quantized.h"
#include "kernels/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define FWL_AVX2 __attribute__((target("avx2,fma,f16c")))
#endif

namespace fwl {
namespace {

#if defined(__x86_64__)

// Eight unsigned or signed bytes as floats.
FWL_AVX2 inline __m256 floats_of_unsigned(__m128i bytes) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}
FWL_AVX2 inline __m256 floats_of_signed(const uint8_t* bytes) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes))));
}
FWL_AVX2 inline __m256 floats_of_bf16(const uint8_t* bytes) {
  const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}
FWL_AVX2 inline float half_at(const uint8_t* bytes) {
  uint16_t bits;
  std::memcpy(&bits, bytes, sizeof bits);
  return _cvtsh_ss(bits);
}
FWL_AVX2 inline float sum_of(__m256 values) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

// Q4_0 and Q4_1: a half scale, for Q4_1 a half minimum, 16 bytes of nibbles. <scale * q + minimum, x> per block is
// scale * <q, x> + minimum * sum(x), and the sums of x are the same for every row.
template <bool has_minimum>
FWL_AVX2 float dot_nibbles(const uint8_t* row, const float* x, const float* block_sums, int64_t blocks) {
  constexpr int header = has_minimum ? 4 : 2;
  const __m128i low_nibbles = _mm_set1_epi8(15);
  __m256 total = _mm256_setzero_ps();
  float minima = 0;
  for (int64_t block = 0; block < blocks; ++block, row += header + 16, x += 32) {
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + header));
    const __m128i low = _mm_and_si128(packed, low_nibbles);
    const __m128i high = _mm_and_si128(_mm_srli_epi16(packed, 4), low_nibbles);
    __m256 first = _mm256_mul_ps(floats_of_unsigned(low), _mm256_loadu_ps(x));
    __m256 second = _mm256_mul_ps(floats_of_unsigned(_mm_srli_si128(low, 8)), _mm256_loadu_ps(x + 8));
    first = _mm256_fmadd_ps(floats_of_unsigned(high), _mm256_loadu_ps(x + 16), first);
    second = _mm256_fmadd_ps(floats_of_unsigned(_mm_srli_si128(high, 8)), _mm256_loadu_ps(x + 24), second);
    const float scale = half_at(row);
    total = _mm256_fmadd_ps(_mm256_set1_ps(scale), _mm256_add_ps(first, second), total);
    minima += (has_minimum ? half_at(row + 2) : -8 * scale) * block_sums[block];
  }
  return sum_of(total) + minima;
}

// Q8_0: a half scale and 32 signed bytes.
FWL_AVX2 float dot_bytes(const uint8_t* row, const float* x, int64_t blocks) {
  __m256 total = _mm256_setzero_ps();
  for (int64_t block = 0; block < blocks; ++block, row += 34, x += 32) {
    __m256 first = _mm256_mul_ps(floats_of_signed(row + 2), _mm256_loadu_ps(x));
    __m256 second = _mm256_mul_ps(floats_of_signed(row + 10), _mm256_loadu_ps(x + 8));
    first = _mm256_fmadd_ps(floats_of_signed(row + 18), _mm256_loadu_ps(x + 16), first);
    second = _mm256_fmadd_ps(floats_of_signed(row + 26), _mm256_loadu_ps(x + 24), second);
    total = _mm256_fmadd_ps(_mm256_set1_ps(half_at(row)), _mm256_add_ps(first, second), total);
  }
  return sum_of(total);
}

// BF16: the upper halves of floats.
FWL_AVX2 float dot_bf16(const uint8_t* row, const float* x, int64_t eights) {
  __m256 first = _mm256_setzero_ps(), second = _mm256_setzero_ps();
  int64_t index = 0;
  for (; index + 2 <= eights; index += 2, row += 32, x += 16) {
    first = _mm256_fmadd_ps(floats_of_bf16(row), _mm256_loadu_ps(x), first);
    second = _mm256_fmadd_ps(floats_of_bf16(row + 16), _mm256_loadu_ps(x + 8), second);
  }
  if (index < eights) first = _mm256_fmadd_ps(floats_of_bf16(row), _mm256_loadu_ps(x), first);
  return sum_of(_mm256_add_ps(first, second));
}

FWL_AVX2 float dot_f16(const uint8_t* row, const float* x, int64_t eights) {
  __m256 total = _mm256_setzero_ps();
  for (int64_t index = 0; index < eights; ++index, row += 16, x += 8)
    total = _mm256_fmadd_ps(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row))), _mm256_loadu_ps(x),
                            total);
  return sum_of(total);
}

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}

// False if there is no kernel for the type.
bool direct_dot(GgufType type, const uint8_t* row, int64_t columns, const float* x, const float* block_sums,
                float& result) {
  if (!has_avx2()) return false;
  switch (type) {
    case GgufType::Q4_0:
      result = dot_nibbles<false>(row, x, block_sums, columns / 32);
      return true;
    case GgufType::Q4_1:
      result = dot_nibbles<true>(row, x, block_sums, columns / 32);
      return true;
    case GgufType::Q8_0:
      result = dot_bytes(row, x, columns / 32);
      return true;
    case GgufType::BF16:
      if (columns % 8) return false;
      result = dot_bf16(row, x, columns / 8);
      return true;
    case GgufType::F16:
      if (columns % 8) return false;
      result = dot_f16(row, x, columns / 8);
      return true;
    default:
      return false;
  }
}

#else

bool direct_dot(GgufType, const uint8_t*, int64_t, const float*, const float*, float&) {
  return false;
}

#endif

}  // namespace

void quantized_dot(GgufType type, const uint8_t* rows, int64_t row_count, int64_t row_bytes, int64_t columns,
                   const float* vectors, int64_t count, float* out, int64_t out_stride) {
  const int64_t blocks = columns / 32;
  const bool needs_sums = type == GgufType::Q4_0 || type == GgufType::Q4_1;
  std::vector<float> block_sums(needs_sums ? static_cast<size_t>(blocks * count) : 0), dense;
  for (size_t block = 0; block < block_sums.size(); ++block)
    for (int64_t index = 0; index < 32; ++index) block_sums[block] += vectors[static_cast<int64_t>(block) * 32 + index];
  for (int64_t row = 0; row < row_count; ++row) {
    const uint8_t* bytes = rows + row * row_bytes;
    dense.clear();
    for (int64_t vector = 0; vector < count; ++vector) {
      const float* x = vectors + vector * columns;
      float& result = out[vector * out_stride + row];
      const float* sums = needs_sums ? block_sums.data() + vector * blocks : nullptr;
      if (direct_dot(type, bytes, columns, x, sums, result)) continue;
      if (dense.empty()) {
        dense.resize(static_cast<size_t>(columns));
        dequantize(type, {reinterpret_cast<const std::byte*>(bytes), static_cast<size_t>(row_bytes)}, dense);
      }
      result = dot(dense.data(), x, columns);
    }
  }
}

}  // namespace fwl
