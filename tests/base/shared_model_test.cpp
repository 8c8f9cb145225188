// Several states over one model: from several threads, and with contexts of their own.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <future>

#include "base/base_samples.h"
#include "engine/products.h"
#include "support/error.h"

namespace fwl {
namespace {

at::Tensor sample_text(int64_t seed, int64_t sequences, int64_t tokens) {
  at::manual_seed(static_cast<uint64_t>(seed));
  return at::randint(sample_vocabulary, {sequences, tokens}, at::kLong);
}

// Segments of all lengths, then token by token, and the head's losses.
std::vector<at::Tensor> read_text(const BaseModel& model, const at::Tensor& text) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> results;
  auto state = model.new_state(text.size(0));
  int64_t start = 0;
  for (const int64_t count : {5, 1, 17, 9, 1, 1, 1, 1, 1, 1, 1, 1}) {
    results.push_back(model.read(text.narrow(1, start, count), state));
    results.push_back(model.head()->loss(results.back().flatten(0, 1), text.narrow(1, start, count).flatten()));
    start += count;
  }
  return results;
}

TEST(SharedModel, TwoThreadsReadWhatOneAfterTheOtherReads) {
  for (const auto& [name, model] : sample_bases()) {
    const auto one = sample_text(1, 2, 40), two = sample_text(2, 3, 40);
    const auto read = [&](const at::Tensor& text) {
      return std::async(std::launch::async, [&model = *model, text] { return read_text(model, text); });
    };
    const auto expected_one = read(one).get(), expected_two = read(two).get();
    for (int repeat = 0; repeat < 10; ++repeat) {
      auto first = read(one), second = read(two);
      const auto got_one = first.get(), got_two = second.get();
      for (size_t index = 0; index < got_one.size(); ++index) {
        EXPECT_TRUE(at::equal(got_one[index], expected_one[index])) << name << " " << index;
        EXPECT_TRUE(at::equal(got_two[index], expected_two[index])) << name << " " << index;
      }
    }
  }
}

TEST(SharedModel, StatesOfDifferentContextsDoNotDisturbEachOther) {
  const auto model = sample_llama(at::kFloat);
  const at::NoGradGuard no_grad;
  const auto text = sample_text(3, 1, 40);
  const std::vector<ContextOptions> contexts = {
      {}, {.context_tokens = 8, .long_text = LongText::restart}, {.context_tokens = 8, .long_text = LongText::slide}};
  std::vector<at::Tensor> alone;
  for (const auto& context : contexts) {
    auto state = model->new_state(1, context);
    alone.push_back(model->read(text, state));
  }
  EXPECT_FALSE(at::allclose(alone[0], alone[1], 1e-3, 1e-3));
  EXPECT_FALSE(at::allclose(alone[1], alone[2], 1e-3, 1e-3));
  std::vector<BaseState> states;
  for (const auto& context : contexts) states.push_back(model->new_state(1, context));
  for (int64_t start = 0; start < 40; start += 10)
    for (size_t index = 0; index < states.size(); ++index)
      EXPECT_TRUE(at::allclose(model->read(text.narrow(1, start, 10), states[index]), alone[index].narrow(1, start, 10),
                               1e-5, 1e-5));
}

TEST(SharedModel, MemoryOfATransformerXlBelongsToTheState) {
  const auto model = sample_transformer_xl(at::kFloat);
  const at::NoGradGuard no_grad;
  const auto text = sample_text(4, 1, 30);
  auto own = model->new_state(1);
  auto longer = model->new_state(1, {.memory_tokens = 12, .clamp_tokens = 9, .is_same_length = true});
  const auto by_own = model->read(text, own), by_longer = model->read(text, longer);
  EXPECT_EQ(model->trimmed(own).cache.front().size(2), 7);
  EXPECT_EQ(model->trimmed(longer).cache.front().size(2), 12);
  EXPECT_FALSE(at::allclose(by_own, by_longer, 1e-3, 1e-3));
}

TEST(SharedModel, AContextThatTheArchitectureCannotReadIsRefused) {
  const at::TensorOptions options(at::kFloat);
  EXPECT_THROW(sample_llama(options)->new_state(1, {.context_tokens = 65}), UserError);
  EXPECT_THROW(sample_llama(options)->new_state(1, {.memory_tokens = 5}), UserError);
  EXPECT_THROW(sample_gpt2(options)->new_state(1, {.context_tokens = 8, .long_text = LongText::slide}), UserError);
  EXPECT_THROW(sample_sparse_local(options)->new_state(1, {.context_tokens = 8}), UserError);
  EXPECT_THROW(sample_transformer_xl(options)->new_state(1, {.context_tokens = 8, .memory_tokens = 7}), UserError);
  EXPECT_THROW(sample_transformer_xl(options)->new_state(1, {.is_same_length = true}), UserError);
  EXPECT_THROW(sample_llama(options)->new_state(0), UserError);
}

TEST(SharedModel, DropoutActsInTrainingCallsOnly) {
  SparseLocalConfig config;
  config.vocabulary.size = sample_vocabulary;
  config.layers = 1;
  config.hidden_size = 24;
  config.heads = 4;
  config.ffn_size = 40;
  config.dropout = 0.5;
  FreshWeights weights(5);
  const SparseLocal model(config, weights);
  const auto read = [&](bool is_training) {
    const at::NoGradGuard no_grad;
    auto state = model.new_state(1);
    return model.read(sample_text(5, 1, 20), state, {.is_training = is_training});
  };
  EXPECT_TRUE(at::equal(read(false), read(false)));
  EXPECT_FALSE(at::allclose(read(true), read(false)));
}

TEST(PrecisionScope, BelongsToItsThreadAndEndsWithIt) {
  EXPECT_EQ(product_precision(), ProductPrecision::exact);
  const PrecisionScope outer(ProductPrecision::bf16);
  EXPECT_EQ(product_precision(), ProductPrecision::bf16);
  EXPECT_EQ(std::async(std::launch::async, [] { return product_precision(); }).get(), ProductPrecision::exact);
  {
    const PrecisionScope inner(ProductPrecision::exact);
    EXPECT_EQ(product_precision(), ProductPrecision::exact);
  }
  EXPECT_EQ(product_precision(), ProductPrecision::bf16);
}

}  // namespace
}  // namespace fwl
