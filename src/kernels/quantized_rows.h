// Rows of quantised weights as they are stored, and what is computed with them without dequantising a matrix to memory.
#pragma once

#include <cstdint>
#include <vector>

#include "files/gguf_type.h"

namespace fwl {

struct QuantizedRows {
  GgufType type;
  const uint8_t* bytes;
  int64_t count, row_bytes, columns;

  QuantizedRows part(int64_t first, int64_t rows) const {
    return {type, bytes + first * row_bytes, rows, row_bytes, columns};
  }
};

// Vectors rounded to 8 bits in groups of 32, each with a scale of its own, as llama.cpp multiplies.
struct ByteVectors {
  static constexpr int64_t group = 32;

  ByteVectors(const float* vectors, int64_t count, int64_t columns);  // columns: a multiple of the group
  std::vector<float> dequantized() const;

  int64_t count, columns;
  std::vector<int8_t> values;       // count,columns
  std::vector<float> scales, sums;  // of each group; sums of what the rounded values stand for
};

// out[v * out_stride + r] = <row r, vector v>. Sums are in single precision; weights have the values of `dequantize`.
// vectors: count,columns, contiguous
void dot_rows(const QuantizedRows& rows, const float* vectors, int64_t count, float* out, int64_t out_stride);

// The same with rounded vectors; exact for them but for the order of sums.
void dot_rows(const QuantizedRows& rows, const ByteVectors& vectors, float* out, int64_t out_stride);

// Whether a type stores integers, so that rounded vectors are multiplied faster than exact ones.
bool stores_integers(GgufType type);

// The bits of `dequantize`.   values: count,columns
void dequantize_rows(const QuantizedRows& rows, float* values);

}  // namespace fwl
