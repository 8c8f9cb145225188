#include "files/quantized.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "files/gguf_samples.h"
#include "files/quantized_blocks.h"
#include "files/quantized_samples.h"
#include "support/message_of.h"

namespace fwl {
namespace {

std::vector<float> unpack(GgufType type, const std::string& bytes, size_t count) {
  std::vector<float> values(count);
  dequantize(type, std::as_bytes(std::span(bytes)), values);
  return values;
}

TEST(Quantized, EveryHalfBecomesTheFloatOfItsDefinition) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double sign = half & 0x8000 ? -1 : 1;
    const double size = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
    const float value = half_to_float(half);
    EXPECT_EQ(std::signbit(value), (half & 0x8000) != 0);
    if (exponent < 31)
      EXPECT_EQ(value, sign * size) << bits;
    else
      EXPECT_TRUE(fraction ? std::isnan(value) : std::isinf(value)) << bits;
  }
}

TEST(Quantized, Q4_1IsScaleTimesNibblePlusMinimumWithLowNibblesFirst) {
  std::string bytes("\x00\x40\x00\x3c", 4);  // 2.0 and 1.0
  for (int i = 0; i < 16; ++i) bytes += static_cast<char>(i | (15 - i) << 4);
  const auto values = unpack(GgufType::Q4_1, bytes, 32);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(values[static_cast<size_t>(i)], 2 * i + 1);
    EXPECT_EQ(values[static_cast<size_t>(16 + i)], 2 * (15 - i) + 1);
  }
}

TEST(Quantized, ARangeOfRowsEqualsThatPartOfTheWhole) {
  const auto bytes = sample_gguf(3);
  const GgufFile file("m.gguf", std::as_bytes(std::span(bytes)));
  const auto& tensor = *file.find_tensor("token_embd.weight");
  std::vector<float> whole(64), second(32);
  dequantize_rows(tensor, 0, whole);
  dequantize_rows(tensor, 1, second);
  EXPECT_EQ(second, std::vector<float>(whole.begin() + 32, whole.end()));
  EXPECT_NE(message_of([&] { dequantize_rows(tensor, 2, second); }), "no error");
  EXPECT_NE(message_of([&] { dequantize_rows(tensor, -1, second); }), "no error");
}

TEST(Quantized, ScalesAreFiniteIfAndOnlyIfTheValuesAre) {
  std::mt19937 random(7);
  for (const auto type : dequantizable_types) {
    if (type == GgufType::F32) continue;
    EXPECT_TRUE(has_finite_scales(type, std::as_bytes(std::span(random_rows(type, 4, 256)))));
    const auto& [_, name, block_values, block_bytes] = info(type);
    int finite_blocks = 0;
    for (int i = 0; i < 300; ++i) {
      std::string bytes(static_cast<size_t>(block_bytes), '\0');
      for (auto& byte : bytes) byte = static_cast<char>(random());
      if (i % 2 == 0) bytes[half_offsets(type).back() + 1] = type == GgufType::BF16 ? '\x7F' : '\x7C';
      if (i % 4 == 0) bytes[half_offsets(type).back()] = '\x80';
      const auto values = unpack(type, bytes, static_cast<size_t>(block_values));
      const bool is_finite = std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
      EXPECT_EQ(has_finite_scales(type, std::as_bytes(std::span(bytes))), is_finite) << name;
      finite_blocks += is_finite;
    }
    EXPECT_GT(finite_blocks, 30) << name;
    EXPECT_LT(finite_blocks, 270) << name;
  }
}

TEST(Quantized, AnEmptyTensorUnpacksToNothing) {
  for (const auto type : {GgufType::F32, GgufType::F16, GgufType::Q4_0, GgufType::Q6_K})
    EXPECT_NO_THROW(dequantize_rows({"empty", type, {0}, 0, {}}, 0, {}));
}

TEST(Quantized, UnsupportedTypesAndTooFewBytesAreClearErrors) {
  EXPECT_EQ(message_of([] { unpack(GgufType::Q8_0, std::string(33, 'x'), 32); }),
            "dequantize: expected 34 bytes for 32 values of Q8_0, got 33 bytes");
  EXPECT_EQ(message_of([] { unpack(GgufType::Q8_0, std::string(34, 'x'), 31); }),
            "dequantize: expected whole Q8_0 blocks of 32 values, got 31 values");
  EXPECT_NE(message_of([] { unpack(GgufType::IQ2_XS, std::string(74, 'x'), 256); }).find("got IQ2_XS"),
            std::string::npos);
}

}  // namespace
}  // namespace fwl
