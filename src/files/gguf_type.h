// The tensor types of GGUF files: each stores a block of values in a fixed number of bytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace fwl {

// The numbers are those of the file format.
enum class GgufType : uint32_t {
  F32 = 0,
  F16 = 1,
  Q4_0 = 2,
  Q4_1 = 3,
  Q5_0 = 6,
  Q5_1 = 7,
  Q8_0 = 8,
  Q8_1 = 9,
  Q2_K = 10,
  Q3_K = 11,
  Q4_K = 12,
  Q5_K = 13,
  Q6_K = 14,
  Q8_K = 15,
  IQ2_XXS = 16,
  IQ2_XS = 17,
  IQ3_XXS = 18,
  IQ1_S = 19,
  IQ4_NL = 20,
  IQ3_S = 21,
  IQ2_S = 22,
  IQ4_XS = 23,
  I8 = 24,
  I16 = 25,
  I32 = 26,
  I64 = 27,
  F64 = 28,
  IQ1_M = 29,
  BF16 = 30,
  TQ1_0 = 34,
  TQ2_0 = 35,
  MXFP4 = 39,
};

struct GgufTypeInfo {
  GgufType type;
  std::string_view name;
  int64_t block_values;
  int64_t block_bytes;
};

const GgufTypeInfo* find_gguf_type(uint32_t number);        // null: unknown
const GgufTypeInfo* find_gguf_type(std::string_view name);  // null: unknown
const GgufTypeInfo& info(GgufType type);

}  // namespace fwl
