// Products of quantised weight rows with a few vectors, without dequantising the rows to memory: generation is made of
// them.
#pragma once

#include <cstdint>

#include "files/gguf_type.h"

namespace fwl {

// out[v * out_stride + r] = <row r, vector v> for `rows` rows of `columns` values each, stored as `type` at a distance
// of row_bytes. Sums are in single precision; the weights' values are those of `dequantize`.
// vectors: count x columns, one after the other.
void quantized_dot(GgufType type, const uint8_t* rows, int64_t row_count, int64_t row_bytes, int64_t columns,
                   const float* vectors, int64_t count, float* out, int64_t out_stride);

}  // namespace fwl
