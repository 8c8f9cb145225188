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

// total + scale * <weights, x> for a block of 32.
FWL_AVX2 inline __m256 with_block(__m256 total, const __m256 (&weights)[4], const float* x, float scale) {
  __m256 first = _mm256_mul_ps(weights[0], _mm256_loadu_ps(x));
  __m256 second = _mm256_mul_ps(weights[1], _mm256_loadu_ps(x + 8));
  first = _mm256_fmadd_ps(weights[2], _mm256_loadu_ps(x + 16), first);
  second = _mm256_fmadd_ps(weights[3], _mm256_loadu_ps(x + 24), second);
  return _mm256_fmadd_ps(_mm256_set1_ps(scale), _mm256_add_ps(first, second), total);
}

// Products of one row with some vectors, which share the unpacked weights. A vector's sums do not depend on the others.
// x: vectors,columns   sums of blocks: vectors,blocks   results: one per vector, `stride` apart

// Q4_0 and Q4_1: a half scale, for Q4_1 a half minimum, 16 bytes of nibbles. <scale * q + minimum, x> per block is
// scale * <q, x> + minimum * sum(x), and the sums of x are the same for every row.
template <bool has_minimum, int vectors>
FWL_AVX2 void dot_nibbles(const uint8_t* row, const float* x, const float* block_sums, int64_t blocks, float* results,
                          int64_t stride) {
  constexpr int header = has_minimum ? 4 : 2;
  const __m128i low_nibbles = _mm_set1_epi8(15);
  __m256 totals[vectors];
  float minima[vectors] = {};
  for (auto& total : totals) total = _mm256_setzero_ps();
  for (int64_t block = 0; block < blocks; ++block, row += header + 16, x += 32) {
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + header));
    const __m128i low = _mm_and_si128(packed, low_nibbles);
    const __m128i high = _mm_and_si128(_mm_srli_epi16(packed, 4), low_nibbles);
    const __m256 weights[4] = {floats_of_unsigned(low), floats_of_unsigned(_mm_srli_si128(low, 8)),
                               floats_of_unsigned(high), floats_of_unsigned(_mm_srli_si128(high, 8))};
    const float scale = half_at(row), minimum = has_minimum ? half_at(row + 2) : -8 * scale;
    for (int vector = 0; vector < vectors; ++vector) {
      totals[vector] = with_block(totals[vector], weights, x + vector * 32 * blocks, scale);
      minima[vector] += minimum * block_sums[vector * blocks + block];
    }
  }
  for (int vector = 0; vector < vectors; ++vector) results[vector * stride] = sum_of(totals[vector]) + minima[vector];
}

// Q8_0: a half scale and 32 signed bytes.
template <int vectors>
FWL_AVX2 void dot_bytes(const uint8_t* row, const float* x, int64_t blocks, float* results, int64_t stride) {
  __m256 totals[vectors];
  for (auto& total : totals) total = _mm256_setzero_ps();
  for (int64_t block = 0; block < blocks; ++block, row += 34, x += 32) {
    const __m256 weights[4] = {floats_of_signed(row + 2), floats_of_signed(row + 10), floats_of_signed(row + 18),
                               floats_of_signed(row + 26)};
    const float scale = half_at(row);
    for (int vector = 0; vector < vectors; ++vector)
      totals[vector] = with_block(totals[vector], weights, x + vector * 32 * blocks, scale);
  }
  for (int vector = 0; vector < vectors; ++vector) results[vector * stride] = sum_of(totals[vector]);
}

// BF16: the upper halves of floats.
template <int vectors>
FWL_AVX2 void dot_bf16(const uint8_t* row, const float* x, int64_t columns, float* results, int64_t stride) {
  __m256 totals[vectors][2];
  for (auto& pair : totals) pair[0] = pair[1] = _mm256_setzero_ps();
  for (int64_t column = 0, part = 0; column < columns; column += 8, part ^= 1) {
    const __m256 weights = floats_of_bf16(row + 2 * column);
    for (int vector = 0; vector < vectors; ++vector)
      totals[vector][part] =
          _mm256_fmadd_ps(weights, _mm256_loadu_ps(x + vector * columns + column), totals[vector][part]);
  }
  for (int vector = 0; vector < vectors; ++vector)
    results[vector * stride] = sum_of(_mm256_add_ps(totals[vector][0], totals[vector][1]));
}

template <int vectors>
FWL_AVX2 void dot_f16(const uint8_t* row, const float* x, int64_t columns, float* results, int64_t stride) {
  __m256 totals[vectors];
  for (auto& total : totals) total = _mm256_setzero_ps();
  for (int64_t column = 0; column < columns; column += 8) {
    const __m256 weights = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + 2 * column)));
    for (int vector = 0; vector < vectors; ++vector)
      totals[vector] = _mm256_fmadd_ps(weights, _mm256_loadu_ps(x + vector * columns + column), totals[vector]);
  }
  for (int vector = 0; vector < vectors; ++vector) results[vector * stride] = sum_of(totals[vector]);
}

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}

// False if there is no kernel for the type.
template <int vectors>
bool direct_dot(GgufType type, const uint8_t* row, int64_t columns, const float* x, const float* block_sums,
                float* results, int64_t stride) {
  if (!has_avx2()) return false;
  switch (type) {
    case GgufType::Q4_0:
      dot_nibbles<false, vectors>(row, x, block_sums, columns / 32, results, stride);
      return true;
    case GgufType::Q4_1:
      dot_nibbles<true, vectors>(row, x, block_sums, columns / 32, results, stride);
      return true;
    case GgufType::Q8_0:
      dot_bytes<vectors>(row, x, columns / 32, results, stride);
      return true;
    case GgufType::BF16:
      if (columns % 8) return false;
      dot_bf16<vectors>(row, x, columns, results, stride);
      return true;
    case GgufType::F16:
      if (columns % 8) return false;
      dot_f16<vectors>(row, x, columns, results, stride);
      return true;
    default:
      return false;
  }
}

#else

template <int vectors>
bool direct_dot(GgufType, const uint8_t*, int64_t, const float*, const float*, float*, int64_t) {
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
    for (int64_t vector = 0, some = 0; vector < count; vector += some) {
      const float* x = vectors + vector * columns;
      float* results = out + vector * out_stride + row;
      const float* sums = needs_sums ? block_sums.data() + vector * blocks : nullptr;
      some = count - vector >= 4 ? 4 : 1;
      if (some == 4 ? direct_dot<4>(type, bytes, columns, x, sums, results, out_stride)
                    : direct_dot<1>(type, bytes, columns, x, sums, results, out_stride))
        continue;
      if (dense.empty()) {
        dense.resize(static_cast<size_t>(columns));
        dequantize(type, {reinterpret_cast<const std::byte*>(bytes), static_cast<size_t>(row_bytes)}, dense);
      }
      for (int64_t index = 0; index < some; ++index)
        results[index * out_stride] = dot(dense.data(), x + index * columns, columns);
    }
  }
}

}  // namespace fwl
