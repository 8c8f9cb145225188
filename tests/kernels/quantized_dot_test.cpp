#include "kernels/quantized_dot.h"

#include <gtest/gtest.h>

#include <cmath>

#include "files/quantized.h"
#include "files/quantized_samples.h"

namespace fwl {
namespace {

std::vector<float> random_vectors(int64_t numbers) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> vectors(static_cast<size_t>(numbers));
  for (auto& value : vectors) value = normal(random);
  return vectors;
}

// How far a float sum of so many products may be from the exact one, as a share of the sum of their sizes. Types with
// an offset are summed as scale * <q, x> + offset * sum(x), parts of which are larger than their sum.
constexpr double share = 4e-7;

void expect_dequantized_products(GgufType type, int64_t rows, int64_t columns, int64_t count) {
  const auto& name = info(type).name;
  const auto bytes = random_rows(type, rows, columns);
  const auto vectors = random_vectors(count * columns);
  const auto row_bytes = static_cast<int64_t>(bytes.size()) / rows;
  std::vector<float> weights(static_cast<size_t>(rows * columns));
  dequantize(type, std::as_bytes(std::span(bytes)), weights);
  const int64_t out_stride = rows + 3;
  std::vector<float> out(static_cast<size_t>(count * out_stride), 99.0F);
  quantized_dot(type, bytes.data(), rows, row_bytes, columns, vectors.data(), count, out.data(), out_stride);
  for (int64_t vector = 0; vector < count; ++vector) {
    for (int64_t row = 0; row < rows; ++row) {
      double exact = 0, size = 0;
      for (int64_t column = 0; column < columns; ++column) {
        const double term = static_cast<double>(weights[static_cast<size_t>(row * columns + column)]) *
                            vectors[static_cast<size_t>(vector * columns + column)];
        exact += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(out[static_cast<size_t>(vector * out_stride + row)], exact, share * size)
          << name << ", row " << row << " of " << rows << ", vector " << vector << " of " << count << ", " << columns;
    }
    for (int64_t beside = rows; beside < out_stride; ++beside)
      ASSERT_EQ(out[static_cast<size_t>(vector * out_stride + beside)], 99.0F) << name;
  }
}

TEST(QuantizedDot, EveryTypeMultipliesAsItsDequantizedValues) {
  for (const auto type : dequantizable_types)
    for (const int64_t columns : {256, 512, 2048})
      for (const int64_t count : {1, 2, 5}) expect_dequantized_products(type, 9, columns, count);
}

TEST(QuantizedDot, SmallBlocksMultiplyInRowsOfEveryLength) {
  for (const auto type : dequantizable_types)
    for (const int64_t blocks : {1, 2, 3, 5, 7})
      expect_dequantized_products(type, 4, blocks * info(type).block_values, 2);
}

TEST(QuantizedDot, PlainNumbersMultiplyInRowsThatFillNoVector) {
  for (const auto type : {GgufType::F32, GgufType::F16, GgufType::BF16})
    for (const int64_t columns : {7, 8, 15, 16, 24, 40, 250}) expect_dequantized_products(type, 3, columns, 2);
}

}  // namespace
}  // namespace fwl
