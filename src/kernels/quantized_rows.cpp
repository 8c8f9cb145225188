#include "kernels/quantized_rows.h"

#include <cmath>
#include <cstddef>
#include <span>

#include "files/quantized.h"
#include "kernels/instruction_set.h"
#include "kernels/kernels.h"
#include "kernels/row_kernels.h"

namespace fwl {
namespace {

const RowKernels* kernels_for(GgufType type, int64_t columns) {
  if (columns % ByteVectors::group != 0) return nullptr;
  switch (instruction_set()) {
    case InstructionSet::portable:
      return nullptr;
    case InstructionSet::avx2:
      return avx2_row_kernels(type);
    case InstructionSet::avx512:
      return avx512_row_kernels(type);
    case InstructionSet::avx512_vnni:
      return avx512_vnni_row_kernels(type);
  }
  return nullptr;
}

void dequantize_plainly(const QuantizedRows& rows, float* values) {
  dequantize(rows.type,
             {reinterpret_cast<const std::byte*>(rows.bytes), static_cast<size_t>(rows.count * rows.row_bytes)},
             {values, static_cast<size_t>(rows.count * rows.columns)});
}

// Every value is within half a step of what it is rounded to.
void round_group(const float* x, int8_t* values, float& scale, float& sum) {
  float largest = 0;
  for (int64_t index = 0; index < ByteVectors::group; ++index) largest = std::max(largest, std::abs(x[index]));
  scale = largest / 127;
  const float inverse = largest > 0 ? 127 / largest : 0;
  int total = 0;
  for (int64_t index = 0; index < ByteVectors::group; ++index) {
    const int rounded = static_cast<int>(std::lrintf(x[index] * inverse));
    values[index] = static_cast<int8_t>(rounded);
    total += rounded;
  }
  sum = scale * static_cast<float>(total);
}

}  // namespace

ByteVectors::ByteVectors(const float* vectors, int64_t vector_count, int64_t vector_columns)
    : count(vector_count),
      columns(vector_columns),
      values(static_cast<size_t>(count * columns)),
      scales(values.size() / group),
      sums(values.size() / group) {
  for (size_t index = 0; index < scales.size(); ++index)
    round_group(vectors + index * group, values.data() + index * group, scales[index], sums[index]);
}

std::vector<float> ByteVectors::dequantized() const {
  std::vector<float> floats(values.size());
  for (size_t index = 0; index < floats.size(); ++index)
    floats[index] = scales[index / group] * static_cast<float>(values[index]);
  return floats;
}

bool stores_integers(GgufType type) {
  return type != GgufType::F32 && type != GgufType::F16 && type != GgufType::BF16;
}

void dot_rows(const QuantizedRows& rows, const float* vectors, int64_t count, float* out, int64_t out_stride) {
  if (const auto* kernels = kernels_for(rows.type, rows.columns))
    return kernels->dot(rows, vectors, count, out, out_stride);
  std::vector<float> dense(static_cast<size_t>(rows.columns));
  for (int64_t row = 0; row < rows.count; ++row) {
    dequantize_plainly(rows.part(row, 1), dense.data());
    for (int64_t vector = 0; vector < count; ++vector)
      out[vector * out_stride + row] = dot(dense.data(), vectors + vector * rows.columns, rows.columns);
  }
}

void dot_rows(const QuantizedRows& rows, const ByteVectors& vectors, float* out, int64_t out_stride) {
  const auto* kernels = kernels_for(rows.type, rows.columns);
  if (kernels && kernels->dot_bytes) return kernels->dot_bytes(rows, vectors, out, out_stride);
  dot_rows(rows, vectors.dequantized().data(), vectors.count, out, out_stride);
}

void dequantize_rows(const QuantizedRows& rows, float* values) {
  if (const auto* kernels = kernels_for(rows.type, rows.columns)) return kernels->dequantize(rows, values);
  dequantize_plainly(rows, values);
}

}  // namespace fwl
