// Products whose rows do not depend on each other: each row of a batch has the bits that it has alone.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "engine/products.h"
#include "engine/row_products.h"
#include "files/quantized_samples.h"
#include "weights/matrix.h"

namespace fwl {
namespace {

constexpr int64_t rows = 37, columns = 256;

void expect_independent_rows(const std::function<at::Tensor(const at::Tensor&)>& multiply, const at::Tensor& weights) {
  const at::NoGradGuard no_grad;
  for (const int64_t count : {1, 2, 5, 16, 19}) {
    const auto x = at::randn({count, columns});
    const IndependentRows independent;
    const auto all = multiply(x);
    EXPECT_TRUE(at::allclose(all, at::matmul(x, weights), 1e-4, 1e-3)) << count;
    for (int64_t row = 0; row < count; ++row)
      EXPECT_TRUE(at::equal(multiply(x.narrow(0, row, 1).clone()), all.narrow(0, row, 1))) << row << " of " << count;
  }
}

TEST(IndependentRows, OfQuantisedWeightsHaveTheSameBitsAlone) {
  at::manual_seed(1);
  for (const auto type : dequantizable_types) {
    SCOPED_TRACE(info(type).name);
    auto bytes = random_rows(type, rows, columns);
    const auto stored =
        at::from_blob(bytes.data(), {rows, static_cast<int64_t>(bytes.size()) / rows}, at::kByte).clone();
    const Matrix matrix(stored, type, columns);
    expect_independent_rows([&](const at::Tensor& x) { return matrix.apply(x); }, matrix.dequantized().t());
  }
}

TEST(IndependentRows, OfDenseWeightsHaveTheSameBitsAlone) {
  at::manual_seed(2);
  const Matrix matrix(at::randn({rows, columns}));
  expect_independent_rows([&](const at::Tensor& x) { return matrix.apply(x); }, matrix.dense().t());
  const auto other = at::randn({columns, 300});  // its rows are contiguous
  expect_independent_rows([&](const at::Tensor& x) { return product(x, other); }, other);
}

}  // namespace
}  // namespace fwl
