// Dequantises the tensor types of GGUF files to float32, with the same operations in the same order as the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "files/gguf.h"
#include "files/gguf_type.h"

namespace fwl {

bool can_dequantize(GgufType type);  // F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K

// Fills `values` (whole blocks) from the start of `bytes`. Throws a UserError for other types and for too few bytes.
void dequantize(GgufType type, std::span<const std::byte> bytes, std::span<float> values);

// Whether all values are finite: the half-precision scales of every block, or the values themselves where those are 16
// bits.
bool has_finite_scales(GgufType type, std::span<const std::byte> bytes);

// A range of rows (the last dimension), so that no full copy of the tensor is needed.
void dequantize_rows(const GgufTensor& tensor, int64_t first_row, std::span<float> values);

}  // namespace fwl
