#include "kernels/quantized_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "files/quantized.h"
#include "files/quantized_samples.h"
#include "kernels/instruction_set.h"

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
  const QuantizedRows stored{type, bytes.data(), rows, row_bytes, columns};
  dot_rows(stored, vectors.data(), count, out.data(), out_stride);
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

template <class Action>
void on_every_instruction_set(Action action) {
  for (const auto set : available_instruction_sets()) {
    const InstructionSetScope scope(set);
    const testing::ScopedTrace trace(__FILE__, __LINE__, std::string(name_of(set)));
    action();
  }
}

TEST(QuantizedRows, EveryTypeMultipliesAsItsDequantizedValuesOnEveryInstructionSet) {
  on_every_instruction_set([] {
    for (const auto type : dequantizable_types)
      for (const int64_t columns : {256, 512, 2048})
        for (const int64_t count : {1, 2, 7}) expect_dequantized_products(type, 9, columns, count);
  });
}

TEST(QuantizedRows, SmallBlocksMultiplyInRowsOfEveryLength) {
  on_every_instruction_set([] {
    for (const auto type : dequantizable_types)
      for (const int64_t blocks : {1, 2, 3, 5, 7})
        expect_dequantized_products(type, 4, blocks * info(type).block_values, 2);
  });
}

TEST(QuantizedRows, PlainNumbersMultiplyInRowsThatFillNoVector) {
  on_every_instruction_set([] {
    for (const auto type : {GgufType::F32, GgufType::F16, GgufType::BF16})
      for (const int64_t columns : {7, 8, 15, 16, 24, 40, 250}) expect_dequantized_products(type, 3, columns, 2);
  });
}

TEST(QuantizedRows, EveryInstructionSetDequantizesToTheSameBits) {
  constexpr int64_t rows = 40, columns = 512;
  for (const auto type : dequantizable_types) {
    const auto bytes = random_rows(type, rows, columns, 3);
    std::vector<float> plain(static_cast<size_t>(rows * columns)), values(plain.size());
    dequantize(type, std::as_bytes(std::span(bytes)), plain);
    on_every_instruction_set([&] {
      dequantize_rows({type, bytes.data(), rows, static_cast<int64_t>(bytes.size()) / rows, columns}, values.data());
      EXPECT_EQ(std::memcmp(plain.data(), values.data(), plain.size() * sizeof(float)), 0) << info(type).name;
    });
  }
}

TEST(ByteVectors, AreWithinHalfAStepOfWhatTheyRound) {
  auto vectors = random_vectors(5 * 96);
  for (size_t index = 0; index < 32; ++index) vectors[index] = 0;
  const ByteVectors rounded(vectors.data(), 5, 96);
  const auto values = rounded.dequantized();
  for (size_t index = 0; index < values.size(); ++index)
    ASSERT_LE(std::abs(values[index] - vectors[index]), 0.501F * rounded.scales[index / 32]) << index;
}

// The sums of integers are exact, so only the sums over groups round.
TEST(ByteVectors, AreMultipliedExactlyByEveryTypeOnEveryInstructionSet) {
  constexpr int64_t rows = 20, columns = 768, count = 3;
  const auto vectors = random_vectors(count * columns);
  const ByteVectors rounded(vectors.data(), count, columns);
  const auto stand_for = rounded.dequantized();
  for (const auto type : dequantizable_types) {
    const auto bytes = random_rows(type, rows, columns, 5);
    const QuantizedRows stored{type, bytes.data(), rows, static_cast<int64_t>(bytes.size()) / rows, columns};
    std::vector<float> weights(static_cast<size_t>(rows * columns)), out(static_cast<size_t>(count * rows));
    dequantize(type, std::as_bytes(std::span(bytes)), weights);
    on_every_instruction_set([&] {
      dot_rows(stored, rounded, out.data(), rows);
      for (int64_t vector = 0; vector < count; ++vector)
        for (int64_t row = 0; row < rows; ++row) {
          double exact = 0, size = 0;
          for (int64_t column = 0; column < columns; ++column) {
            const double term = static_cast<double>(weights[static_cast<size_t>(row * columns + column)]) *
                                stand_for[static_cast<size_t>(vector * columns + column)];
            exact += term;
            size += std::abs(term);
          }
          ASSERT_NEAR(out[static_cast<size_t>(vector * rows + row)], exact, share * size) << info(type).name;
        }
    });
  }
}

}  // namespace
}  // namespace fwl
