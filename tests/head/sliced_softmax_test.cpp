// The softmax over a quantised matrix that is never dequantised as a whole, against the one that is.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "files/quantized_samples.h"
#include "head/softmax_head.h"
#include "weights/quantized_product.h"

namespace fwl {
namespace {

constexpr int64_t words = 300, width = 256;

Matrix sample_matrix() {
  const auto bytes = random_rows(GgufType::Q8_0, words, width);
  const auto row_bytes = static_cast<int64_t>(bytes.size()) / words;
  return {at::tensor(bytes, at::kByte).view({words, row_bytes}), GgufType::Q8_0, width};
}

void expect_close(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_LT((a - b).abs().max().item<double>(), 2e-5 * (1 + b.abs().max().item<double>()));
}

// Slices of 10 words, blocks of 16 tokens.
const HeadOptions sliced{.block_bytes = 10 * width * 4, .dense_bytes = 0};

TEST(SlicedSoftmax, LossesAndGradientsEqualThoseOfTheDenseMatrix) {
  at::manual_seed(1);
  const auto hidden = at::randn({70, width}) * 0.1, targets = at::randint(words, {70}, at::kLong);
  for (const auto& bias : {at::Tensor(), at::randn({words})}) {
    const SoftmaxHead dense(sample_matrix(), bias), in_slices(sample_matrix(), bias, sliced);
    const auto expected = dense.loss_and_gradient(hidden, targets), got = in_slices.loss_and_gradient(hidden, targets);
    expect_close(got.loss, expected.loss);
    expect_close(got.gradient, expected.gradient);
    expect_close(in_slices.loss(hidden, targets), expected.loss);
  }
}

TEST(SlicedSoftmax, BackwardPassesEqualThoseOfTheDenseMatrix) {
  at::manual_seed(2);
  const auto targets = at::randint(words, {40}, at::kLong);
  const auto weights = at::randn({40}), directions = at::randn({40, width});
  const SoftmaxHead dense(sample_matrix(), {}), in_slices(sample_matrix(), {}, sliced);
  const auto values = at::randn({40, width}) * 0.1;
  const auto first = [&](const SoftmaxHead& head) {
    const auto hidden = values.clone().requires_grad_();
    return torch::autograd::grad({(head.loss(hidden, targets) * weights).sum()}, {hidden})[0];
  };
  const auto second = [&](const SoftmaxHead& head) {
    const auto hidden = values.clone().requires_grad_();
    const auto [loss, gradient] = head.loss_and_gradient(hidden, targets);
    return torch::autograd::grad({(loss * weights).sum() + (gradient * directions).sum()}, {hidden})[0];
  };
  expect_close(first(in_slices), first(dense));
  expect_close(second(in_slices), second(dense));
}

TEST(SlicedSoftmax, LargeMatricesAreMultipliedInSlices) {
  const int64_t rows = 600000, columns = 64;  // 154 MB if dense
  const auto bytes = random_rows(GgufType::Q8_0, rows, columns);
  const auto row_bytes = static_cast<int64_t>(bytes.size()) / rows;
  const Matrix matrix(at::tensor(bytes, at::kByte).view({rows, row_bytes}), GgufType::Q8_0, columns);
  const auto x = at::randn({8, columns}), y = at::randn({8, rows});
  const auto dense = matrix.dequantized();
  expect_close(matrix.apply(x), at::mm(x, dense.t()));
  expect_close(multiply_by_quantized_transposed(y, matrix.stored_rows()), at::mm(y, dense));
}

}  // namespace
}  // namespace fwl
