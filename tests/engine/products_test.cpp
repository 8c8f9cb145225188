#include "engine/products.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/tensor_checks.h"

namespace fwl {
namespace {

// A number rounded to bf16 (8 significant bits) is off by at most 2^-8 of itself, and by half of that or less as a
// rule.
const double bf16_rounding = std::ldexp(1.0, -8), float_rounding = std::ldexp(1.0, -24);

// |a| @ |b|: what every error of a product is measured by.
at::Tensor sizes_of(const at::Tensor& a, const at::Tensor& b) {
  return at::matmul(wide(a).abs(), wide(b).abs());
}

double greatest_share(const at::Tensor& actual, const at::Tensor& expected, const at::Tensor& sizes) {
  return ((wide(actual) - wide(expected)).abs() / sizes).max().item<double>();
}

double typical_share(const at::Tensor& actual, const at::Tensor& expected, const at::Tensor& sizes) {
  return ((wide(actual) - wide(expected)).abs() / sizes).mean().item<double>();
}

bool rounds_operands() {
  switch (product_precision()) {
    case ProductPrecision::exact:
      return false;
    case ProductPrecision::bf16:
      return has_fast_bf16_gemm();
    case ProductPrecision::bf16_everywhere:
      return has_bf16_gemm();
  }
  return false;
}

at::Tensor rounded(const at::Tensor& tensor) {
  return wide(rounds_operands() ? tensor.to(at::kBFloat16) : tensor);
}

const ProductPrecision every_precision[] = {ProductPrecision::exact, ProductPrecision::bf16,
                                            ProductPrecision::bf16_everywhere};

// The product is that of the rounded operands, summed in float; so it is within two roundings of the exact one, and
// where bf16 is in use it is also further away than float products ever are.
void expect_product(const at::Tensor& actual, const at::Tensor& a, const at::Tensor& b) {
  const auto sizes = sizes_of(a, b), exact = at::matmul(wide(a), wide(b));
  const double sum_error = static_cast<double>(a.size(-1)) * float_rounding;
  EXPECT_LT(greatest_share(actual, at::matmul(rounded(a), rounded(b)), sizes), 1.01 * sum_error + float_rounding);
  EXPECT_LT(greatest_share(actual, exact, sizes), 2 * bf16_rounding + bf16_rounding * bf16_rounding + 2 * sum_error);
  if (rounds_operands()) {
    // Independent roundings average out over K terms; their spread is about a third of the bound.
    const double terms = std::sqrt(static_cast<double>(a.size(-1)));
    EXPECT_GT(typical_share(actual, exact, sizes), 0.05 * bf16_rounding / terms);
    EXPECT_LT(typical_share(actual, exact, sizes), 1.5 * bf16_rounding / terms);
  } else {
    EXPECT_LT(greatest_share(actual, exact, sizes), 1.01 * sum_error);
  }
}

TEST(Products, Bf16MeansTheProductOfRoundedOperands) {
  at::manual_seed(1);
  for (const auto choice : every_precision)
    for (const int64_t rows : {1, 7, 64})
      for (const int64_t inner : {16, 100, 300})
        for (const int64_t columns : {5, 64}) {
          const PrecisionScope precision(choice);
          const auto a = at::randn({rows, inner}), b = at::randn({inner, columns});
          expect_product(product(a, b), a, b);
          const auto a_transposed = a.t().contiguous().t(), b_transposed = b.t().contiguous().t();
          expect_product(product(a_transposed, b_transposed), a, b);
          const auto batched = at::randn({3, rows, inner}), batch = at::randn({3, inner, columns});
          expect_product(product(batched, b), batched, b);
          expect_product(product(batched, batch), batched, batch);
        }
}

TEST(Products, Bf16GradientsAreProductsOfRoundedOperandsToo) {
  at::manual_seed(2);
  for (const auto choice : every_precision) {
    const PrecisionScope precision(choice);
    const auto x = at::randn({2, 9, 80}), weight = at::randn({80, 33}), upstream = at::randn({2, 9, 33});
    const auto out = differentiate([](const std::vector<at::Tensor>& in) { return product(in[0], in[1]); }, {x, weight},
                                   upstream, at::kFloat);
    expect_product(out.gradients[0], upstream, weight.t());
    expect_product(out.gradients[1], x.flatten(0, 1).t(), upstream.flatten(0, 1));
  }
}

TEST(Products, DoubleIsExactAtEveryPrecision) {
  at::manual_seed(4);
  const PrecisionScope precision(ProductPrecision::bf16_everywhere);
  const auto a = at::randn({6, 50}, at::kDouble), b = at::randn({50, 7}, at::kDouble);
  EXPECT_LT(relative_difference(product(a, b), at::matmul(a, b)), 1e-14);
}

TEST(Products, KeepAndScaleAreWhatTheySayForMatricesAndBatches) {
  at::manual_seed(5);
  for (const auto choice : every_precision)
    for (const double keep : {0.0, 1.0, 0.5})
      for (const double scale : {1.0, -2.0}) {
        const PrecisionScope precision(choice);
        const auto a = at::randn({3, 20, 40}), b = at::randn({3, 40, 9}), start = at::randn({3, 20, 9});
        const auto expected = keep * wide(start) + scale * at::matmul(rounded(a), rounded(b));  // 3,20,9
        auto all = start.clone(), one = start[0].clone();
        auto columns = start[0].t().contiguous().t();
        product_into(all, a, b, keep, scale);
        product_into(one, a[0], b[0], keep, scale);
        product_into(columns, a[0], b[0], keep, scale);
        EXPECT_LT(relative_difference(all, expected), 2e-6) << keep << " " << scale;
        EXPECT_LT(relative_difference(one, expected[0]), 2e-6) << keep << " " << scale;
        EXPECT_LT(relative_difference(columns, expected[0]), 2e-6) << keep << " " << scale;
      }
}

}  // namespace
}  // namespace fwl
