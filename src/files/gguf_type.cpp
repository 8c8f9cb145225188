#include "files/gguf_type.h"

#include <algorithm>
#include <iterator>

namespace fwl {
namespace {

constexpr GgufTypeInfo types[] = {
    {GgufType::F32, "F32", 1, 4},
    {GgufType::F16, "F16", 1, 2},
    {GgufType::Q4_0, "Q4_0", 32, 18},
    {GgufType::Q4_1, "Q4_1", 32, 20},
    {GgufType::Q5_0, "Q5_0", 32, 22},
    {GgufType::Q5_1, "Q5_1", 32, 24},
    {GgufType::Q8_0, "Q8_0", 32, 34},
    {GgufType::Q8_1, "Q8_1", 32, 40},
    {GgufType::Q2_K, "Q2_K", 256, 84},
    {GgufType::Q3_K, "Q3_K", 256, 110},
    {GgufType::Q4_K, "Q4_K", 256, 144},
    {GgufType::Q5_K, "Q5_K", 256, 176},
    {GgufType::Q6_K, "Q6_K", 256, 210},
    {GgufType::Q8_K, "Q8_K", 256, 292},
    {GgufType::IQ2_XXS, "IQ2_XXS", 256, 66},
    {GgufType::IQ2_XS, "IQ2_XS", 256, 74},
    {GgufType::IQ3_XXS, "IQ3_XXS", 256, 98},
    {GgufType::IQ1_S, "IQ1_S", 256, 50},
    {GgufType::IQ4_NL, "IQ4_NL", 32, 18},
    {GgufType::IQ3_S, "IQ3_S", 256, 110},
    {GgufType::IQ2_S, "IQ2_S", 256, 82},
    {GgufType::IQ4_XS, "IQ4_XS", 256, 136},
    {GgufType::I8, "I8", 1, 1},
    {GgufType::I16, "I16", 1, 2},
    {GgufType::I32, "I32", 1, 4},
    {GgufType::I64, "I64", 1, 8},
    {GgufType::F64, "F64", 1, 8},
    {GgufType::IQ1_M, "IQ1_M", 256, 56},
    {GgufType::BF16, "BF16", 1, 2},
    {GgufType::TQ1_0, "TQ1_0", 256, 54},
    {GgufType::TQ2_0, "TQ2_0", 256, 66},
    {GgufType::MXFP4, "MXFP4", 32, 17},
};

template <class Matches>
const GgufTypeInfo* find(Matches matches) {
  const auto* found = std::ranges::find_if(types, matches);
  return found == std::end(types) ? nullptr : found;
}

}  // namespace

const GgufTypeInfo* find_gguf_type(uint32_t number) {
  return find([&](const GgufTypeInfo& each) { return static_cast<uint32_t>(each.type) == number; });
}

const GgufTypeInfo* find_gguf_type(std::string_view name) {
  return find([&](const GgufTypeInfo& each) { return each.name == name; });
}

const GgufTypeInfo& info(GgufType type) {
  return *find_gguf_type(static_cast<uint32_t>(type));
}

}  // namespace fwl
