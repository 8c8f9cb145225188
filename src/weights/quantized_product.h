// Products with quantised weights or their transpose. A matrix is never dequantised as a whole: few vectors are
// multiplied with the rows as they are stored, and for more a tile of rows at a time is dequantised into the cache.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "kernels/quantized_rows.h"

namespace fwl {

// How vectors are multiplied with rows of integers: in fp32, or rounded to 8 bits in groups of 32, which is faster for
// a few and less exact (llama.cpp's way). Many are rounded too, so that a text is read as it is written. Of the whole
// process.
enum class Activations { fp32, q8 };
Activations activations();
void set_activations(Activations activations);
Activations activations_from_name(const std::string& where, const std::string& name);  // fp32, q8

// One matrix: rows,row bytes (uint8), contiguous.
QuantizedRows quantized_rows_of(const at::Tensor& bytes, GgufType type, int64_t columns);

// x @ matrix^T for every matrix, in one parallel region if there are few vectors.   x: N,columns -> N,rows each
std::vector<at::Tensor> multiply_quantized(const at::Tensor& x, const std::vector<QuantizedRows>& matrices);

// x @ matrix.   x: N,rows -> N,columns
at::Tensor multiply_by_quantized_transposed(const at::Tensor& x, const QuantizedRows& matrix);

// values: rows,columns
void dequantize_in_parallel(const QuantizedRows& rows, float* values);

}  // namespace fwl
