#include "weights/matrix.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/tensor_checks.h"
#include "files/quantized.h"
#include "files/quantized_samples.h"

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
