#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "architecture/base_config.h"
#include "base/base_samples.h"
#include "base/sparse_local.h"
#include "base/transformer_xl.h"
#include "support/error.h"

namespace fwl {
namespace {

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

int64_t count_parameters(const BaseModel& model) {
  int64_t count = 0;
  for (const auto& [name, tensor] : model.parameters()) count += tensor.numel();
  return count;
}

TEST(SparseLocal, IsMadeFromItsSizes) {
  const auto config =
      base_config("sparse-local", 256, {{"layers", 4}, {"hidden_size", 192}, {"heads", 4}, {"ffn_size", 768}});
  FreshWeights weights(1);
  const auto made = config.make(weights);
  const auto& model = *made;
  // Per layer 12 D^2 + 9 D, the embedding, the last norm and the head's bias.
  EXPECT_EQ(count_parameters(model), 4 * (12 * 192 * 192 + 9 * 192) + 256 * 192 + 2 * 192 + 256);
  auto state = model.new_state(1);
  const at::NoGradGuard no_grad;
  EXPECT_EQ(model.read(at::zeros({1, 300}, at::kLong), state).sizes(), at::IntArrayRef({1, 300, 192}));
  EXPECT_EQ(state.tokens_read, 300);
}

TEST(SparseLocal, TakesTheAdaptiveSoftmax) {
  const auto config = base_config(
      "sparse-local", 50,
      {{"layers", 1}, {"hidden_size", 16}, {"heads", 2}, {"ffn_size", 32}, {"cutoffs", {10, 30}}, {"divisor", 2}});
  FreshWeights weights(1);
  const auto model = config.make(weights);
  auto state = model->new_state(1);
  const at::NoGradGuard no_grad;
  const auto words = at::arange(50, at::kLong);
  const auto hidden = model->read(words.unsqueeze(0), state).select(1, 49).expand({50, 16}).contiguous();
  EXPECT_NEAR(model->head()->loss(hidden, words, {}).neg().exp().sum().item<double>(), 1, 1e-5);
  const at::AutoGradMode with_gradients(true);
  auto table = model->parameters().front().second;
  table.requires_grad_();
  model->head()->loss(hidden, words, {}).sum().backward();
  EXPECT_GT(table.grad().abs().sum().item<double>(), 0);
}

TEST(SparseLocal, RefusesHeadsThatDoNotFit) {
  SparseLocalConfig config;
  config.vocabulary.size = 10;
  config.hidden_size = 30;
  config.heads = 4;
  FreshWeights weights(1);
  EXPECT_THROW(SparseLocal(config, weights), UserError);
}

TEST(FreshWeights, AreTheSameForTheSameSeed) {
  FreshWeights one(7), same(7), other(8);
  const auto tensor = one.tensor("a", {50, 50}, Initial::normal(2));
  EXPECT_TRUE(at::equal(tensor, same.tensor("a", {50, 50}, Initial::normal(2))));
  EXPECT_FALSE(at::equal(tensor, other.tensor("a", {50, 50}, Initial::normal(2))));
  EXPECT_NEAR(tensor.std().item<double>(), 2, 0.1);
}

TEST(BaseState, IsCopiedOnlyOnPurpose) {
  static_assert(!std::is_copy_constructible_v<BaseState> && std::is_move_constructible_v<BaseState>);
  SparseLocalConfig config;
  config.vocabulary.size = 20;
  config.layers = 1;
  config.hidden_size = 8;
  config.heads = 2;
  config.ffn_size = 8;
  FreshWeights weights(1);
  const SparseLocal model(config, weights);
  const at::NoGradGuard no_grad;
  auto state = model.new_state(1);
  model.read(at::arange(1, 4, at::kLong).unsqueeze(0), state);
  auto copy = state.clone();
  const auto token = at::full({1, 1}, 4, at::kLong);
  const auto expected = model.read(token, copy);
  model.read(at::full({1, 3}, 9, at::kLong), copy);  // does not reach the original
  EXPECT_TRUE(at::equal(model.read(token, state), expected));
}

TEST(Decoder, KeepsCachesAsLongAsTheWindowsOfItsLayers) {
  const at::NoGradGuard no_grad;
  const auto model = sample_mixed_decoder(at::kFloat);
  auto state = model->new_state(1);
  model->read(at::randint(sample_vocabulary, {1, 40}, at::kLong), state);
  const auto trimmed = model->trimmed(state);
  EXPECT_EQ(trimmed.cached_tokens, 40);
  EXPECT_EQ(trimmed.cache[0].size(2), 4);  // a window of 5: the next position and the 4 before it
  EXPECT_EQ(trimmed.cache[2].size(2), 40);
  EXPECT_EQ(trimmed.cache[5].size(2), 2);
  const auto shapes = model->cache_shapes(trimmed);
  ASSERT_EQ(shapes.size(), trimmed.cache.size());
  for (size_t index = 0; index < shapes.size(); ++index)
    EXPECT_EQ(trimmed.cache[index].sizes(), at::IntArrayRef(shapes[index]));
}

TEST(Decoder, GoesOnFromATrimmedStateAndAfterARewind) {
  const at::NoGradGuard no_grad;
  const auto model = sample_mixed_decoder(at::kFloat);
  const auto text = at::randint(sample_vocabulary, {2, 50}, at::kLong);
  for (const int64_t cut : {1, 2, 7, 40}) {
    auto state = model->new_state(2);
    state.undo_tokens = 6;
    model->read(text.narrow(1, 0, cut), state);
    auto loaded = model->trimmed(state);
    loaded.layer_tokens.clear();  // as after loading a file
    const auto expected = model->read(text.narrow(1, cut, 10), state);
    EXPECT_LT(largest_difference(model->read(text.narrow(1, cut, 10), loaded), expected), 1e-5);
    for (auto* rewound : {&state, &loaded}) {
      model->rewind(*rewound, 6);
      const auto again = model->read(text.narrow(1, cut + 4, 6), *rewound);
      EXPECT_LT(largest_difference(again, expected.narrow(1, 4, 6)), 1e-5);
    }
  }
}

TEST(Decoder, CachesOfWindowsStaySmallAfterALongPrompt) {
  const at::NoGradGuard no_grad;
  DecoderConfig config;
  config.vocabulary_size = sample_vocabulary;
  config.hidden_size = 8;
  config.layers = 1;
  config.heads = config.kv_heads = 1;
  config.head_size = config.ffn_size = 8;
  config.context_tokens = 100000;
  config.layer_kinds = {{.window_tokens = 100}};
  FreshWeights weights(1);
  const Decoder model(config, weights);
  auto state = model.new_state(1, {.context_tokens = 100000});
  model.read(at::randint(sample_vocabulary, {1, 5000}, at::kLong), state);
  for (int64_t step = 0; step < 2000; ++step) model.read(at::zeros({1, 1}, at::kLong), state);
  EXPECT_LT(state.cache[0].size(2), 250);
}

TEST(TransformerXl, AKeptHeadFollowsWeightsThatChange) {
  const auto config = base_config(
      "transformer-xl", 30,
      {{"layers", 1}, {"hidden_size", 8}, {"heads", 2}, {"ffn_size", 8}, {"memory_tokens", 4}, {"cutoffs", {10, 20}}});
  FreshWeights weights(1);
  const auto model = config.make(weights);
  const at::NoGradGuard no_grad;
  const auto hidden = at::randn({5, 8}), targets = at::tensor({0, 5, 11, 25, 29}, at::kLong);
  const auto before = model->head()->loss(hidden, targets);
  for (const auto& [name, tensor] : model->parameters()) tensor.mul_(2);
  const auto kept = model->head()->loss(hidden, targets);
  const at::AutoGradMode with_gradients(true);
  EXPECT_LT(largest_difference(kept, model->head()->loss(hidden, targets)), 1e-6);
  EXPECT_GT(largest_difference(kept, before), 1e-3);
}

}  // namespace
}  // namespace fwl
