// The core as a C++ program uses it; the equalities and gradients are tested at length from Python.
#include "memory/layer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/softmax_columns.h"
#include "head/adaptive_softmax_head.h"
#include "head/softmax_head.h"
#include "memory/layer_sums.h"
#include "support/error.h"

namespace fwl {
namespace {

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

struct Example {
  at::Tensor hidden, targets;
  std::shared_ptr<SoftmaxHead> head;
  LayerParameters parameters;

  explicit Example(int64_t tokens) {
    at::manual_seed(1);
    hidden = at::randn({2, tokens, 6}, at::kDouble);
    targets = at::randint(0, 9, {2, tokens}, at::kLong);
    head = std::make_shared<SoftmaxHead>(at::randn({9, 6}, at::kDouble), at::randn({9}, at::kDouble));
    parameters = initial_parameters(6, 8, 6, false, at::kDouble);
    parameters.log_steps.fill_(std::log(1e-3));
  }
};

struct Output {
  at::Tensor fast_loss;
  FastState state;
  WeightSet total() const { return LayerSums::of(state).total(); }
};

Output read(const FastWeightLayer& layer, const at::Tensor& hidden, const at::Tensor& targets, const Example& example,
            const MemoryCall& call, FastState state = {}) {
  const auto losses = layer.read(hidden, targets, example.head, call, state);
  return {losses.fast, state};
}

TEST(FastWeightLayer, ChunkedFormEqualsTheDefinitionForEveryChunkSize) {
  const Example example(33);
  for (const auto place : {GradientAt::slow, GradientAt::boundary}) {
    LayerOptions options;
    options.gradient_at = place;
    const FastWeightLayer layer(example.parameters, options);
    for (int64_t chunk = 1; chunk <= 34; ++chunk) {
      MemoryCall call;
      call.chunk_tokens = chunk;
      const auto chunked = read(layer, example.hidden, example.targets, example, call);
      call.form = Form::quadratic;
      const auto definition = read(layer, example.hidden, example.targets, example, call);
      EXPECT_LT(largest_difference(chunked.fast_loss, definition.fast_loss), 1e-12) << "chunk " << chunk;
      EXPECT_LT(largest_difference(chunked.total().W, definition.total().W), 1e-12) << "chunk " << chunk;
    }
  }
}

TEST(FastWeightLayer, ATextReadInPiecesLeavesTheSameStateAsReadWhole) {
  const Example example(20);
  LayerOptions options;
  options.gradient_at = GradientAt::boundary;
  options.max_drift = 0.5;
  const FastWeightLayer layer(example.parameters, options);
  MemoryCall call;
  call.chunk_tokens = 7;
  const auto whole = read(layer, example.hidden, example.targets, example, call);
  FastState state;
  for (const auto& [start, count] : {std::pair<int64_t, int64_t>{0, 3}, {3, 1}, {4, 16}})
    state = read(layer, example.hidden.narrow(1, start, count), example.targets.narrow(1, start, count), example, call,
                 state)
                .state;
  EXPECT_EQ(state.open_tokens, whole.state.open_tokens);
  EXPECT_EQ(state.tokens_read, (std::vector<int64_t>{20, 20}));
  EXPECT_LT(largest_difference(LayerSums::of(state).total().U, whole.total().U), 1e-13);
}

TEST(FastWeightLayer, TrainingReachesEveryParameter) {
  Example example(12);
  auto& slow = example.parameters.slow;
  for (auto* weight : slow.all()) weight->requires_grad_(true);
  example.parameters.log_steps.requires_grad_(true);
  const FastWeightLayer layer(example.parameters, {});
  read(layer, example.hidden, example.targets, example, {}).fast_loss.mean().backward();
  for (auto* weight : slow.all()) EXPECT_GT(weight->grad().abs().sum().item<double>(), 0);
  EXPECT_GT(example.parameters.log_steps.grad().abs().min().item<double>(), 0);
}

TEST(SoftmaxColumns, EqualTheEnginesSoftmaxInSinglePrecision) {
  at::manual_seed(2);
  for (const int64_t words : {1, 7, 16, 1000, 10007}) {
    const auto logits = at::randn({words, 37}) * 20, bias = at::randn({words});
    auto p = logits.clone();
    const auto log_sum = softmax_columns_(p, bias);
    const auto exact = (logits + bias.unsqueeze(1)).to(at::kDouble);
    EXPECT_LT(largest_difference(p.to(at::kDouble), exact.softmax(0)), 1e-6);
    EXPECT_LT(largest_difference(log_sum.to(at::kDouble), exact.logsumexp(0)), 1e-5);
    auto q = at::randn_like(p);
    const auto shift = at::randn({37}), expected = p * (q + shift);
    multiply_shifted_columns_(q, p, shift);
    EXPECT_LT(largest_difference(q, expected), 1e-5);
  }
}

TEST(AdaptiveSoftmaxHead, ProbabilitiesOfAllWordsAddUpToOne) {
  at::manual_seed(3);
  const AdaptiveSoftmaxHead head({{at::randn({5, 4}), at::randn({5}), {}},
                                  {at::randn({6, 2}), at::randn({6}), at::randn({4, 2})},
                                  {at::randn({7, 1}), at::randn({7}), at::randn({4, 1})}},
                                 at::randn({2, 4}), at::randn({2}));
  EXPECT_EQ(head.vocabulary_size(), 18);
  const auto hidden = at::randn({3, 4});
  EXPECT_LT(largest_difference(head.logits(hidden).exp().sum(1), at::ones({3})), 1e-5);
  EXPECT_THROW(AdaptiveSoftmaxHead({{at::randn({5, 4}), {}, {}}, {at::randn({6, 2}), {}, {}}}, at::randn({1, 4}), {}),
               UserError);
}

}  // namespace
}  // namespace fwl
