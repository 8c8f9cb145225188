// Kernels for one type of rows, by instruction set; quantized_rows.cpp chooses among them.
#pragma once

#include "kernels/quantized_rows.h"

namespace fwl {

struct RowKernels {
  void (*dot)(const QuantizedRows& rows, const float* vectors, int64_t count, float* out, int64_t out_stride);
  void (*dot_bytes)(const QuantizedRows& rows, const ByteVectors& vectors, float* out, int64_t out_stride);  // or null
  void (*dequantize)(const QuantizedRows& rows, float* values);
};

// For rows of whole groups of 32 values. Null: there is none for the type.
const RowKernels* avx2_row_kernels(GgufType type);
const RowKernels* avx512_row_kernels(GgufType type);
const RowKernels* avx512_vnni_row_kernels(GgufType type);

}  // namespace fwl
