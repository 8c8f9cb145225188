#include "engine/products.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/gemm_backend.h"
#include "engine/rounded_weights.h"
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

// The engine's bf16 product rounds its result too.
bool rounds_results() {
  return products_in_use().find(name_of(GemmBackend::onednn_bf16)) != std::string::npos;
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
  const double result_rounding = rounds_results() ? bf16_rounding : 0;
  EXPECT_LT(greatest_share(actual, at::matmul(rounded(a), rounded(b)), sizes),
            1.01 * sum_error + float_rounding + result_rounding);
  EXPECT_LT(greatest_share(actual, exact, sizes),
            2 * bf16_rounding + bf16_rounding * bf16_rounding + 2 * sum_error + result_rounding);
  if (rounds_operands()) {
    // Independent roundings average out over K terms; their spread is about a third of the bound.
    const double terms = std::sqrt(static_cast<double>(a.size(-1)));
    EXPECT_GT(typical_share(actual, exact, sizes), 0.05 * bf16_rounding / terms);
    EXPECT_LT(typical_share(actual, exact, sizes), (rounds_results() ? 2 : 1.5) * bf16_rounding / terms);
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

TEST(GemmBackend, EveryOneThatIsThereMultipliesItsOperands) {
  at::manual_seed(6);
  const auto x = at::randn({37, 100}), weight = at::randn({45, 100}), start = at::randn({37, 45});
  for (const auto backend :
       {GemmBackend::mkl_fp32, GemmBackend::onednn_fp32, GemmBackend::onednn_bf16, GemmBackend::mkl_bf16}) {
    if (!is_available(backend)) continue;
    const bool rounds = rounds_to_bf16(backend);
    const auto operand = [&](const at::Tensor& tensor) { return wide(rounds ? tensor.to(at::kBFloat16) : tensor); };
    const double rounding = backend == GemmBackend::onednn_bf16 ? bf16_rounding : 2e-6;
    for (const double keep : {0.0, 0.5})
      for (const double scale : {1.0, -2.0}) {
        const auto expected = keep * wide(start) + scale * at::matmul(operand(x), operand(weight).t());  // 37,45
        auto plain = start.clone(), into_columns = start.t().contiguous().t(), with_kept = start.clone();
        multiply_by(backend, plain, x, weight.t(), keep, scale);
        multiply_by(backend, into_columns, x.t().contiguous().t(), weight.t().contiguous(), keep, scale);
        EXPECT_LT(relative_difference(plain, expected), rounding) << name_of(backend) << keep << scale;
        EXPECT_LT(relative_difference(into_columns, expected), rounding) << name_of(backend) << keep << scale;
        if (!rounds) continue;
        multiply_by(backend, with_kept, x, rounded_weight(weight).t(), keep, scale);
        EXPECT_TRUE(at::equal(with_kept, plain)) << name_of(backend) << keep << scale;
      }
  }
}

TEST(GemmBackend, TheFastestIsOneOfThoseMeasuredAndMklInFp32IsAlwaysAmongThem) {
  const auto& speeds = gemm_speeds();
  EXPECT_EQ(speeds.front().backend, GemmBackend::mkl_fp32);
  EXPECT_TRUE(std::ranges::any_of(speeds, [](const auto& speed) { return speed.backend == fastest_gemm(); }));
  EXPECT_NE(product_backend().find(name_of(fastest_gemm())), std::string::npos);
}

TEST(RoundedWeights, AreMadeOnceAndAgainWhenTheWeightChanges) {
  auto weight = at::randn({6, 7});
  const auto first = rounded_weight(weight);
  EXPECT_TRUE(at::equal(first, weight.to(at::kBFloat16)));
  EXPECT_TRUE(rounded_weight(weight).is_same(first));
  weight.add_(1);
  EXPECT_TRUE(at::equal(rounded_weight(weight), weight.to(at::kBFloat16)));
  weight = at::randn({6, 7});  // perhaps at the same address
  EXPECT_TRUE(at::equal(rounded_weight(weight), weight.to(at::kBFloat16)));
}

TEST(Products, AWeightsProductIsThatOfItsTransposeAtEveryPrecision) {
  at::manual_seed(7);
  for (const auto choice : every_precision) {
    const PrecisionScope precision(choice);
    const auto x = at::randn({2, 9, 80}), weight = at::randn({33, 80}), upstream = at::randn({2, 9, 33});
    const auto out = differentiate([](const std::vector<at::Tensor>& in) { return linear_product(in[0], in[1]); },
                                   {x, weight}, upstream, at::kFloat);
    expect_product(out.value, x, weight.t());
    expect_product(out.gradients[0], upstream, weight);
    expect_product(out.gradients[1], upstream.flatten(0, 1).t(), x.flatten(0, 1));
  }
}

}  // namespace
}  // namespace fwl
