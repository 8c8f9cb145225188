// Loops over quantised rows, written once for all instruction sets. An Isa has vectors of `lanes` floats, their
// operations, and byte_products: sums of four neighbouring products of unsigned with signed bytes.
#pragma once

#include "kernels/row_formats.h"
#include "kernels/row_kernels.h"

namespace fwl {

// A quarter or half of a group of bytes, as floats with the operations of `dequantize` in its order.
template <class Isa, class Format, int part>
inline typename Isa::Vector values_of(const ByteGroup& group) {
  const float scale = part * Isa::lanes < 16 ? group.first_scale : group.second_scale;
  const auto scaled = Isa::multiply(Isa::set(scale), Isa::template floats_of_bytes<part>(group.integers));
  return Format::adds_minimum ? Isa::add(scaled, Isa::set(group.minimum)) : scaled;
}

// Calls action(group's number in the row, part, values) for every vector of a row.
template <class Isa, class Format>
struct QuantizedRow {
  template <class Action>
  static inline void for_each(const uint8_t* row, int64_t columns, Action action) {
    int64_t index = 0;
    for (int64_t block = 0; block < columns / (32 * Format::groups); ++block, row += Format::bytes) {
      const Format format(row);
#pragma GCC unroll 8
      for (int number = 0; number < Format::groups; ++number, index += 32) {
        const ByteGroup group = format.group(number);
        action(index, values_of<Isa, Format, 0>(group));
        action(index + Isa::lanes, values_of<Isa, Format, 1>(group));
        if constexpr (Isa::lanes == 8) {
          action(index + 16, values_of<Isa, Format, 2>(group));
          action(index + 24, values_of<Isa, Format, 3>(group));
        }
      }
    }
  }
};

// F32, F16 and BF16.
template <class Isa, class Number>
struct PlainRow {
  template <class Action>
  static inline void for_each(const uint8_t* row, int64_t columns, Action action) {
    for (int64_t index = 0; index < columns; index += 32)
#pragma GCC unroll 4
      for (int lane = 0; lane < 32; lane += Isa::lanes)
        action(index + lane, Isa::load(Number{}, row + (index + lane) * Number::bytes));
  }
};

// The products of one row with some vectors, in two independent sums each.
template <class Isa, class Row, int vectors>
inline void dot_row(const uint8_t* row, int64_t columns, const float* x, float* out, int64_t out_stride) {
  typename Isa::Vector sums[vectors][2];
  for (auto& pair : sums) pair[0] = pair[1] = Isa::zero();
  Row::for_each(row, columns, [&](int64_t index, typename Isa::Vector weights) {
    const int which = static_cast<int>(index / Isa::lanes % 2);
#pragma GCC unroll 4
    for (int vector = 0; vector < vectors; ++vector)
      sums[vector][which] = Isa::multiply_add(weights, Isa::load(x + vector * columns + index), sums[vector][which]);
  });
  for (int vector = 0; vector < vectors; ++vector)
    out[vector * out_stride] = Isa::sum(Isa::add(sums[vector][0], sums[vector][1]));
}

// Tiles of rows stay in the cache while groups of vectors go by.
template <class Isa, class Row>
void dot(const QuantizedRows& rows, const float* vectors, int64_t count, float* out, int64_t out_stride) {
  constexpr int64_t tile = 32;
  for (int64_t first = 0; first < rows.count; first += tile) {
    const int64_t past = first + tile < rows.count ? first + tile : rows.count;
    for (int64_t vector = 0, some = 0; vector < count; vector += some) {
      const float* x = vectors + vector * rows.columns;
      some = count - vector >= 4 ? 4 : count - vector >= 2 ? 2 : 1;
      for (int64_t row = first; row < past; ++row) {
        const uint8_t* bytes = rows.bytes + row * rows.row_bytes;
        float* result = out + vector * out_stride + row;
        if (some == 4)
          dot_row<Isa, Row, 4>(bytes, rows.columns, x, result, out_stride);
        else if (some == 2)
          dot_row<Isa, Row, 2>(bytes, rows.columns, x, result, out_stride);
        else
          dot_row<Isa, Row, 1>(bytes, rows.columns, x, result, out_stride);
      }
    }
  }
}

template <class Isa, class Row>
void dequantize_each(const QuantizedRows& rows, float* values) {
  for (int64_t row = 0; row < rows.count; ++row)
    Row::for_each(rows.bytes + row * rows.row_bytes, rows.columns, [&](int64_t index, typename Isa::Vector weights) {
      Isa::store(values + row * rows.columns + index, weights);
    });
}

// <row, vector> = sum over groups of scales * <integers, bytes> + minimum * (sum of the vector's group).
template <class Isa, class Format>
inline float dot_bytes_row(const uint8_t* row, int64_t columns, const int8_t* x, const float* scales,
                           const float* sums) {
  __m256 total = _mm256_setzero_ps();
  float minima = 0;
  for (int64_t block = 0; block < columns / (32 * Format::groups); ++block, row += Format::bytes) {
    const Format format(row);
#pragma GCC unroll 8
    for (int number = 0; number < Format::groups; ++number, x += 32, ++scales, ++sums) {
      const ByteGroup group = format.group(number);
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
      const __m256i products = Format::is_unsigned ? Isa::byte_products(group.integers, bytes)
                                                   : Isa::byte_products(_mm256_abs_epi8(group.integers),
                                                                        _mm256_sign_epi8(bytes, group.integers));
      const __m256 scale =
          _mm256_set_m128(_mm_set1_ps(group.second_scale * *scales), _mm_set1_ps(group.first_scale * *scales));
      total = _mm256_fmadd_ps(_mm256_cvtepi32_ps(products), scale, total);
      if constexpr (Format::adds_minimum) minima += group.minimum * *sums;
    }
  }
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(total), _mm256_extractf128_ps(total, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1))) + minima;
}

template <class Isa, class Format>
void dot_bytes(const QuantizedRows& rows, const ByteVectors& vectors, float* out, int64_t out_stride) {
  const int64_t groups = rows.columns / 32;
  for (int64_t row = 0; row < rows.count; ++row)
    for (int64_t vector = 0; vector < vectors.count; ++vector)
      out[vector * out_stride + row] = dot_bytes_row<Isa, Format>(
          rows.bytes + row * rows.row_bytes, rows.columns, &vectors.values[0] + vector * rows.columns,
          &vectors.scales[0] + vector * groups, &vectors.sums[0] + vector * groups);
}

template <class Isa, class Format>
constexpr RowKernels quantized_kernels = {dot<Isa, QuantizedRow<Isa, Format>>, dot_bytes<Isa, Format>,
                                          dequantize_each<Isa, QuantizedRow<Isa, Format>>};

template <class Isa, class Number>
constexpr RowKernels plain_kernels = {dot<Isa, PlainRow<Isa, Number>>, nullptr,
                                      dequantize_each<Isa, PlainRow<Isa, Number>>};

template <class Isa>
const RowKernels* find_row_kernels(GgufType type) {
  switch (type) {
    case GgufType::F32:
      return &plain_kernels<Isa, Single>;
    case GgufType::F16:
      return &plain_kernels<Isa, Half>;
    case GgufType::BF16:
      return &plain_kernels<Isa, Bf16>;
    case GgufType::Q4_0:
      return &quantized_kernels<Isa, Q4_0<Isa>>;
    case GgufType::Q4_1:
      return &quantized_kernels<Isa, Q4_1<Isa>>;
    case GgufType::Q5_0:
      return &quantized_kernels<Isa, Q5_0<Isa>>;
    case GgufType::Q5_1:
      return &quantized_kernels<Isa, Q5_1<Isa>>;
    case GgufType::Q8_0:
      return &quantized_kernels<Isa, Q8_0<Isa>>;
    case GgufType::Q4_K:
      return &quantized_kernels<Isa, Q4_K<Isa>>;
    case GgufType::Q5_K:
      return &quantized_kernels<Isa, Q5_K<Isa>>;
    case GgufType::Q6_K:
      return &quantized_kernels<Isa, Q6_K<Isa>>;
    default:
      return nullptr;
  }
}

}  // namespace fwl
