#include "weights/matrix.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/tensor_checks.h"
#include "files/quantized.h"
#include "files/quantized_samples.h"
#include "weights/quantized_product.h"

namespace fwl {
namespace {

struct Sample {
  Matrix matrix;
  at::Tensor dense;  // rows,columns

  Sample(GgufType type, int64_t rows, int64_t columns) {
    const auto bytes = random_rows(type, rows, columns);
    dense = at::empty({rows, columns});
    dequantize(type, std::as_bytes(std::span(bytes)),
               {dense.mutable_data_ptr<float>(), static_cast<size_t>(rows * columns)});
    auto stored = at::empty({rows, static_cast<int64_t>(bytes.size()) / rows}, at::kByte);
    std::memcpy(stored.mutable_data_ptr(), bytes.data(), bytes.size());
    matrix = Matrix(stored, type, columns);
  }
};

// The greatest error of x @ dense^T as a share of |x| @ |dense|^T.
double product_error(const at::Tensor& actual, const at::Tensor& x, const at::Tensor& dense) {
  const auto exact = at::matmul(wide(x), wide(dense).t()), sizes = at::matmul(wide(x).abs(), wide(dense).abs().t());
  return ((wide(actual) - exact).abs() / sizes).max().item<double>();
}

// Counts of vectors on both sides of the limit up to which rows are multiplied as they are stored.
TEST(Matrix, EveryTypeMultipliesFewAndManyVectorsAsItsDequantizedValues) {
  at::manual_seed(1);
  for (const auto type : dequantizable_types)
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 512}, {130, 256}}) {
      const Sample sample(type, rows, columns);
      EXPECT_TRUE(at::equal(sample.matrix.dequantized(), sample.dense)) << info(type).name;
      for (const int64_t count : {1, 2, 6, 7, 20}) {
        const auto x = at::randn({count, columns});
        EXPECT_LT(product_error(sample.matrix.apply(x), x, sample.dense), 4e-7)
            << fmt::format("{}: {} rows of {}, {} vectors", info(type).name, rows, columns, count);
      }
    }
}

TEST(Matrix, AddsItsBiasAndKeepsTheShapeOfItsInput) {
  at::manual_seed(2);
  const Sample sample(GgufType::Q5_K, 10, 256);
  const auto bias = at::randn({10});
  for (const int64_t tokens : {1, 5}) {
    const auto x = at::randn({2, tokens, 256});
    const auto out = sample.matrix.apply(x, bias);
    EXPECT_EQ(out.sizes(), at::IntArrayRef({2, tokens, 10}));
    EXPECT_LT(relative_difference(out, at::matmul(wide(x), wide(sample.dense).t()) + wide(bias)), 1e-6);
  }
}

TEST(Matrix, SelectsRowsOfEveryType) {
  const auto indices = at::tensor({4, 0, 0, 10}, at::kLong).view({2, 2});
  for (const auto type : dequantizable_types) {
    const Sample sample(type, 11, 256);
    EXPECT_TRUE(at::equal(sample.matrix.select_rows(indices), at::embedding(sample.dense, indices))) << info(type).name;
  }
}

TEST(Matrix, SeveralSideBySideGiveWhatEachGivesAlone) {
  at::manual_seed(4);
  const Sample first(GgufType::Q4_K, 70, 256), second(GgufType::Q8_0, 9, 256);
  const Matrix dense(at::randn({11, 256}));
  const auto bias = at::randn({70});
  for (const int64_t count : {1, 4, 20}) {
    const auto x = at::randn({count, 256});
    const auto two = apply_side_by_side(x, {{first.matrix, bias}, {second.matrix, {}}});
    EXPECT_LT(relative_difference(two[0], first.matrix.apply(x, bias)), 1e-6);
    EXPECT_LT(relative_difference(two[1], second.matrix.apply(x)), 1e-6);
    const auto mixed = apply_side_by_side(x, {{dense, {}}, {second.matrix, {}}});
    EXPECT_LT(relative_difference(mixed[0], dense.apply(x)), 1e-6);
    EXPECT_LT(relative_difference(mixed[1], second.matrix.apply(x)), 1e-6);
  }
}

// The rounding of 32 values to 127 steps each way costs about half a percent of a product.
TEST(Matrix, RoundedActivationsAreReadAsTheyAreWrittenAndCloseToExactOnes) {
  at::manual_seed(5);
  for (const auto type : dequantizable_types) {
    const Sample sample(type, 50, 512);
    const auto x = at::randn({20, 512});
    const auto exact = at::matmul(wide(x), wide(sample.dense).t());
    set_activations(Activations::q8);
    const auto whole = sample.matrix.apply(x),
               alone = at::cat({sample.matrix.apply(x.narrow(0, 0, 1)), sample.matrix.apply(x.narrow(0, 1, 8)),
                                sample.matrix.apply(x.narrow(0, 9, 11))});
    set_activations(Activations::fp32);
    EXPECT_LT(relative_difference(whole, wide(alone)), 2e-6) << info(type).name;
    const double error = ((wide(whole) - exact).norm() / exact.norm()).item<double>();
    EXPECT_LT(error, 0.01) << info(type).name;
    EXPECT_EQ(error > 1e-4, stores_integers(type)) << info(type).name;
  }
}

TEST(Matrix, TransposedProductsAreThoseOfTheDequantizedValues) {
  at::manual_seed(6);
  for (const auto type : dequantizable_types)
    for (const int64_t rows : {3, 1500}) {
      const Sample sample(type, rows, 512);
      const auto x = at::randn({5, rows});
      const auto product = multiply_by_quantized_transposed(x, sample.matrix.stored_rows());
      EXPECT_LT(relative_difference(product, at::matmul(wide(x), wide(sample.dense))), 2e-6) << info(type).name;
    }
}

TEST(Matrix, MultipliesTheSameOnEveryNumberOfThreads) {
  at::manual_seed(3);
  for (const auto type : {GgufType::Q4_0, GgufType::Q8_0, GgufType::Q4_K, GgufType::F16})
    for (const int64_t count : {1, 3, 12}) {
      const Sample sample(type, 1000, 512);
      const auto x = at::randn({count, 512});
      for (const int threads : {1, 2, 7}) {
        const Threads used(threads);
        EXPECT_LT(product_error(sample.matrix.apply(x), x, sample.dense), 4e-7) << info(type).name << " " << threads;
      }
    }
}

}  // namespace
}  // namespace fwl
