#include "files/quantized.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "files/quantized_blocks.h"
#include "support/error.h"
#include "support/printable.h"

namespace fwl {
namespace {

DequantizeBlocks* find_dequantize(GgufType type) {
  switch (type) {
    case GgufType::F32:
      return dequantize_f32;
    case GgufType::F16:
      return dequantize_f16;
    case GgufType::BF16:
      return dequantize_bf16;
    case GgufType::Q4_0:
      return dequantize_q4_0;
    case GgufType::Q4_1:
      return dequantize_q4_1;
    case GgufType::Q5_0:
      return dequantize_q5_0;
    case GgufType::Q5_1:
      return dequantize_q5_1;
    case GgufType::Q8_0:
      return dequantize_q8_0;
    case GgufType::Q2_K:
      return dequantize_q2_k;
    case GgufType::Q3_K:
      return dequantize_q3_k;
    case GgufType::Q4_K:
      return dequantize_q4_k;
    case GgufType::Q5_K:
      return dequantize_q5_k;
    case GgufType::Q6_K:
      return dequantize_q6_k;
    default:
      return nullptr;
  }
}

// Where a block holds numbers of 16 bits; the rest are integers.
std::vector<size_t> scale_offsets(GgufType type) {
  switch (type) {
    case GgufType::Q4_1:
    case GgufType::Q5_1:
    case GgufType::Q4_K:
    case GgufType::Q5_K:
      return {0, 2};
    case GgufType::Q2_K:
      return {80, 82};
    case GgufType::Q3_K:
      return {108};
    case GgufType::Q6_K:
      return {208};
    default:  // F16, BF16, Q4_0, Q5_0, Q8_0
      return {0};
  }
}

}  // namespace

bool has_finite_scales(GgufType type, std::span<const std::byte> bytes) {
  const uint16_t exponent = type == GgufType::BF16 ? 0x7F80 : 0x7C00;  // all ones: NaN or infinity
  const auto block_bytes = static_cast<size_t>(info(type).block_bytes);
  bool is_finite = true;
  for (const auto offset : scale_offsets(type))
    for (size_t at = offset; at + sizeof exponent <= bytes.size(); at += block_bytes) {
      uint16_t scale;
      std::memcpy(&scale, bytes.data() + at, sizeof scale);
      is_finite &= (scale & exponent) != exponent;
    }
  return is_finite;
}

bool can_dequantize(GgufType type) {
  return find_dequantize(type) != nullptr;
}

void dequantize(GgufType type, std::span<const std::byte> bytes, std::span<float> values) {
  const auto& [_, name, block_values, block_bytes] = info(type);
  auto* dequantize_blocks = find_dequantize(type);
  if (!dequantize_blocks)
    fail("dequantize", "one of F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K", name,
         "use the model in another quantisation");
  const auto count = static_cast<int64_t>(values.size()), blocks = count / block_values;
  if (count % block_values != 0)
    fail("dequantize", fmt::format("whole {} blocks of {} values", name, block_values),
         fmt::format("{} values", count));
  if (static_cast<int64_t>(bytes.size()) / block_bytes < blocks)
    fail("dequantize", fmt::format("{} bytes for {} values of {}", blocks * block_bytes, count, name),
         fmt::format("{} bytes", bytes.size()));
  if (blocks > 0) dequantize_blocks(reinterpret_cast<const uint8_t*>(bytes.data()), blocks, values.data());
}

void dequantize_rows(const GgufTensor& tensor, int64_t first_row, std::span<float> values) {
  const auto& type = info(tensor.type);
  const auto row_values = tensor.shape.empty() ? 1 : tensor.shape.back();
  const auto first = first_row * row_values, count = static_cast<int64_t>(values.size());
  if (first < 0 || first > tensor.values || count > tensor.values - first)
    fail(fmt::format("tensor {}", printable(tensor.name)), fmt::format("rows inside its {} values", tensor.values),
         fmt::format("{} values from row {}", count, first_row));
  dequantize(tensor.type, tensor.bytes.subspan(static_cast<size_t>(first / type.block_values * type.block_bytes)),
             values);
}

}  // namespace fwl
