// One pass over the head for one token, and the tiled softmax, against the plain definition.
#include "head/token_pass.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/tensor_checks.h"
#include "files/quantized_samples.h"
#include "head/softmax_head.h"
#include "head/tiled_softmax.h"

namespace fwl {
namespace {

Matrix sample(GgufType type, int64_t rows, int64_t columns) {
  const auto bytes = random_rows(type, rows, columns);
  const auto row_bytes = static_cast<int64_t>(bytes.size()) / rows;
  return {at::tensor(bytes, at::kByte).view({rows, row_bytes}), type, columns};
}

void expect_pass(const SoftmaxHead& head, const at::Tensor& dense, const at::Tensor& bias, const std::string& title) {
  // Small, because the error of a probability is that of its logit, which grows with its size.
  const auto hidden = at::randn({1, dense.size(1)}) / 16, learning = at::randn({1, dense.size(1)}) / 16;
  const auto logits = [&](const at::Tensor& h) {
    const auto plain = at::mm(wide(h), wide(dense).t());
    return bias.defined() ? plain + wide(bias) : plain;
  };
  const auto pass = head.token_pass(hidden, learning);
  EXPECT_LT(relative_difference(pass.logits, logits(hidden)), 1e-6) << title;
  EXPECT_LT(relative_difference(pass.mean_row, at::mm(logits(learning).softmax(1), wide(dense))), 1e-5) << title;
  const int64_t target = dense.size(0) / 3;
  const auto gradient = head.loss_and_gradient(learning, at::full({1}, target, at::kLong)).gradient;
  EXPECT_LT(relative_difference(pass.mean_row - head.output_row(target), gradient), 1e-5) << title;
}

TEST(TokenPass, GivesLogitsAndTheGradientOfEveryTypeOnEveryNumberOfThreads) {
  const at::NoGradGuard no_grad;
  at::manual_seed(1);
  for (const auto type : {GgufType::Q8_0, GgufType::Q4_0, GgufType::Q4_1, GgufType::Q4_K, GgufType::Q5_K,
                          GgufType::Q6_K, GgufType::Q3_K, GgufType::F16, GgufType::F32})
    for (const bool has_bias : {false, true})
      for (const int threads : {1, 2, 5}) {
        const Threads count(threads);
        const auto matrix = sample(type, 301, 256);
        const auto bias = has_bias ? at::randn({301}) : at::Tensor();
        expect_pass(SoftmaxHead(matrix, bias), matrix.dequantized(), bias,
                    fmt::format("{} {} {}", info(type).name, has_bias, threads));
      }
}

TEST(TokenPass, TakesDenseWeightsAndHiddenStatesOfAnySize) {
  const at::NoGradGuard no_grad;
  at::manual_seed(2);
  for (const int64_t width : {5, 32, 100}) {
    const auto dense = at::randn({77, width});
    expect_pass(SoftmaxHead(dense, {}), dense, {}, std::to_string(width));
  }
}

// A logit that is far above all before it must not lose them, nor may one far below count.
TEST(TokenPass, FollowsALargestLogitThatComesLate) {
  const at::NoGradGuard no_grad;
  const auto dense = at::arange(0, 90, at::kFloat).unsqueeze(1).expand({90, 4}).contiguous();
  const SoftmaxHead head(dense, {});
  for (const float slope : {-3.0F, -0.01F, 0.01F, 3.0F}) {
    const auto learning = at::full({1, 4}, slope);
    const auto expected = at::mm(at::mm(wide(learning), wide(dense).t()).softmax(1), wide(dense));
    EXPECT_LT(relative_difference(head.token_pass(learning, learning).mean_row, expected), 1e-5) << slope;
  }
}

TEST(TiledSoftmax, IsTheDefinitionForTilesOfEverySize) {
  const at::NoGradGuard no_grad;
  at::manual_seed(3);
  for (const int64_t tokens : {1, 20, 600})
    for (const int64_t tile_bytes : {1, 9000, 1 << 24})
      for (const auto type : {at::kFloat, at::kDouble}) {
        const auto weight = at::randn({130, 24}, type), bias = at::randn({130}, type);
        const auto hidden = at::randn({tokens, 24}, type), targets = at::randint(0, 130, {tokens}, at::kLong);
        if (tile_bytes == 1 && tokens == 600) continue;  // slow, and nothing new
        const auto logits = at::addmm(wide(bias), wide(hidden), wide(weight).t());
        const auto losses = -logits.log_softmax(1).gather(1, targets.unsqueeze(1)).squeeze(1);
        const auto gradient = at::mm(logits.softmax(1), wide(weight)) - wide(weight).index_select(0, targets);
        const auto full = tiled_softmax(hidden, weight, bias, targets, true, tile_bytes);
        const auto only = tiled_softmax(hidden, weight, bias, targets, false, tile_bytes);
        EXPECT_LT(relative_difference(full.losses, losses), 2e-6) << tokens << " " << tile_bytes;
        EXPECT_LT(relative_difference(full.log_sums, logits.logsumexp(1)), 2e-6) << tokens << " " << tile_bytes;
        EXPECT_LT(relative_difference(full.gradient, gradient), 5e-6) << tokens << " " << tile_bytes;
        EXPECT_LT(relative_difference(only.losses, losses), 2e-6) << tokens << " " << tile_bytes;
        EXPECT_FALSE(only.gradient.defined());
      }
}

}  // namespace
}  // namespace fwl
