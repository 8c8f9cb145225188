// Products of quantised weight rows with a few vectors, without dequantising to memory, for generation.
#pragma once

#include <cstdint>

#include "files/gguf_type.h"

namespace fwl {

// out[v * out_stride + r] = <row r, vector v> for `rows` rows of `columns` values each, stored as `type` with a stride
// of row_bytes. Sums are in single precision; weights have the values of `dequantize`. vectors: count,columns,
// contiguous
void quantized_dot(GgufType type, const uint8_t* rows, int64_t row_count, int64_t row_bytes, int64_t columns,
                   const float* vectors, int64_t count, float* out, int64_t out_stride);

}  // namespace fwl
