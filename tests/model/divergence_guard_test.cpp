#include "model/divergence_guard.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/base_samples.h"
#include "blocks/block_config.h"
#include "generate/generator.h"
#include "memory/memory_config.h"
#include "support/fields.h"

namespace fwl {
namespace {

LanguageModel sample_model() {
  const auto [name, base] = sample_bases().front();
  MemoryChoice choice;
  Fields fields;
  add_fields(fields, choice);
  FreshWeights fresh(5);
  auto memory = choice.make({base->hidden_size(), *base->head(), fresh});
  return {base, std::move(memory)};
}

at::Tensor logits_after(const LanguageModel& model, const Session& session) {
  return model.next_logits(session).clone();
}

TEST(DivergenceGuard, RollsBackToTheLastStateThatReadWell) {
  const at::NoGradGuard no_grad;
  const auto model = sample_model();
  auto session = model.new_session();
  const auto read = [&] { model.read(at::randint(sample_vocabulary, {1, 8}, at::kLong), session); };
  read();
  DivergenceGuard guard(model, session);
  const double blind_guess = std::log(static_cast<double>(sample_vocabulary));
  read();
  EXPECT_FALSE(guard.check(100 * blind_guess, 100));  // a poor model, but no worse than a guess
  const auto hidden = session.last_hidden.clone();
  const auto good = logits_after(model, session);
  read();
  session.last_hidden = hidden;
  EXPECT_FALSE(at::equal(logits_after(model, session), good));
  EXPECT_TRUE(guard.check(100 * (blind_guess + 2), 100));
  EXPECT_TRUE(at::equal(logits_after(model, session), good));
  EXPECT_TRUE(guard.check(std::nan(""), 1));
  EXPECT_FALSE(guard.check(40 * (blind_guess + 5), 40));  // too few tokens to tell
  EXPECT_TRUE(guard.check(40 * (blind_guess + 5), 40));   // together they are enough
}

TEST(DivergenceGuard, MemoriesInTheBlocksGoBackWithTheContextThatTheyTouched) {
  const at::NoGradGuard no_grad;
  const auto [name, base] = sample_bases().front();
  BlockConfig config;
  config.at = "all";
  config.rank = 5;
  config.chunk_tokens = 6;
  FreshWeights fresh(7, base->options());
  const LanguageModel model(base, nullptr, nullptr, config.make(base->blocks(), base->hidden_size(), fresh, false));
  auto session = model.new_session();
  const auto read = [&](int64_t tokens) {
    model.read(at::randint(sample_vocabulary, {1, tokens}, at::kLong), session);
  };
  const auto weights = [&] { return session.blocks.fast.tensors.at("W").clone(); };
  read(20);
  DivergenceGuard guard(model, session);
  const auto good = weights();
  read(20);
  EXPECT_FALSE(at::equal(weights(), good));
  EXPECT_TRUE(guard.check(std::nan(""), 20));
  EXPECT_TRUE(at::equal(weights(), good));
  EXPECT_EQ(session.tokens_read(), 0);
  read(20);  // within the chunk that was open, nothing of the lost context is missing
  EXPECT_FALSE(at::equal(weights(), good));
}

TEST(DivergenceGuard, ATextIsReadOnWithMemoriesInTheBlocksThatDiverge) {
  const auto [name, base] = sample_bases().front();
  BlockConfig config;
  config.at = "all";
  config.rank = 5;
  config.chunk_tokens = 6;
  config.step = 1e300;  // infinite in single precision
  FreshWeights fresh(7, base->options());
  const LanguageModel model(base, nullptr, nullptr, config.make(base->blocks(), base->hidden_size(), fresh, false));
  auto session = model.new_session();
  Generator generator(model, session);
  std::vector<TokenId> text;
  for (TokenId token = 0; token < 300; ++token) text.push_back(token % static_cast<TokenId>(sample_vocabulary));
  EXPECT_EQ(generator.read(text, Adaptation::write).rollbacks, 3);  // of each part
  EXPECT_TRUE(session.blocks.fast.tensors.at("W").isfinite().all().item<bool>());
  EXPECT_TRUE(model.next_logits(session).isfinite().all().item<bool>());
}

TEST(DivergenceGuard, GenerationThatDivergesLeavesTheFastWeightsAsTheyWere) {
  const auto model = sample_model();
  auto session = model.new_session();
  const std::vector<TokenId> prompt = {1, 2, 3, 4, 5, 6, 7, 8};
  Generator generator(model, session);
  generator.read(prompt, Adaptation::write);
  const auto tensors = session.fast.clone().tensors;
  const auto hidden = session.last_hidden.clone();
  session.last_hidden.fill_(std::nan(""));  // as of weights that have diverged
  GenerationOptions options;
  options.max_tokens = 4;
  EXPECT_TRUE(generator.generate(options).has_diverged);
  for (const auto& [name, tensor] : tensors) EXPECT_TRUE(at::equal(session.fast.tensors.at(name), tensor)) << name;
  session.last_hidden = hidden;
  const auto generation = generator.generate(options);
  EXPECT_FALSE(generation.has_diverged);
  EXPECT_EQ(generation.tokens.size(), 4U);
}

}  // namespace
}  // namespace fwl
