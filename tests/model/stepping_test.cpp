// Sessions that advance one token each in one pass: the same logits and states as one by one.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/base_samples.h"
#include "blocks/block_config.h"
#include "memory/memory_config.h"
#include "model/token_stepper.h"
#include "support/fields.h"

namespace fwl {
namespace {

LanguageModel model_with_layer(const std::shared_ptr<BaseModel>& base) {
  MemoryChoice choice;
  Fields fields;
  add_fields(fields, choice);
  fields.set_text("test", "layer.gradient_at", "boundary");
  fields.set_text("test", "layer.chunk_tokens", "6");
  FreshWeights fresh(5);
  return {base, choice.make({base->hidden_size(), *base->head(), fresh})};
}

TEST(Stepping, OfSeveralSessionsInOnePassEqualsOneByOne) {
  const at::NoGradGuard no_grad;
  at::manual_seed(3);
  const std::vector<Adaptation> adaptations = {Adaptation::write, Adaptation::read, Adaptation::off};
  for (const auto& [name, base] : sample_bases()) {
    SCOPED_TRACE(name);
    const auto model = model_with_layer(base);
    std::vector<Session> together, alone;
    for (const int64_t tokens : {4, 17, 9}) {
      together.push_back(model.new_session());
      model.read(at::randint(sample_vocabulary, {1, tokens}, at::kLong), together.back());
      alone.push_back(together.back().clone());
    }
    std::vector<std::unique_ptr<TokenStepper>> joint, single;
    for (size_t index = 0; index < adaptations.size(); ++index) {
      joint.push_back(std::make_unique<TokenStepper>(model, together[index], adaptations[index]));
      single.push_back(std::make_unique<TokenStepper>(model, alone[index], adaptations[index]));
    }
    for (int64_t step = 0; step < 12; ++step) {
      std::vector<TokenStepper::Step> steps;
      std::vector<TokenStepper*> steppers;
      for (auto& stepper : joint) steppers.push_back(stepper.get());
      const auto logits = TokenStepper::next_logits(steppers);
      for (size_t index = 0; index < joint.size(); ++index) {
        EXPECT_TRUE(at::allclose(logits[index], single[index]->next_logits(), 1e-4, 1e-4));
        const auto token = (step * 5 + static_cast<int64_t>(index)) % sample_vocabulary;
        steps.push_back({joint[index].get(), token});
        single[index]->read(token);
      }
      TokenStepper::read(steps);
    }
    for (size_t index = 0; index < joint.size(); ++index) {
      joint[index]->finish();
      single[index]->finish();
      EXPECT_EQ(together[index].tokens_read(), alone[index].tokens_read());
      EXPECT_TRUE(at::allclose(model.next_logits(together[index]), model.next_logits(alone[index]), 1e-4, 1e-4));
    }
  }
}

// One step of some sessions in one pass: the next logits of each, and the token that it reads then.
std::vector<at::Tensor> step(const std::vector<TokenStepper*>& steppers, int64_t token) {
  const auto logits = TokenStepper::next_logits(steppers);
  std::vector<TokenStepper::Step> steps;
  for (auto* stepper : steppers) steps.push_back({stepper, token});
  TokenStepper::read(steps);
  return logits;
}

LanguageModel model_with_blocks(const std::shared_ptr<BaseModel>& base) {
  BlockConfig config;
  config.at = "all";
  config.chunk_tokens = 8;
  return {base, nullptr, nullptr, config.untrained(*base)};
}

TEST(Stepping, ASessionHasTheSameBitsWhateverIsBesideIt) {
  const at::NoGradGuard no_grad;
  at::manual_seed(6);
  for (const auto& [name, base] : sample_bases())
    for (const auto& model : {model_with_layer(base), model_with_blocks(base)}) {
      SCOPED_TRACE(name);
      std::vector<Session> together;
      for (const int64_t tokens : {4, 17, 9, 3, 5, 6, 7, 8}) {
        together.push_back(model.new_session());
        model.read(at::randint(sample_vocabulary, {1, tokens}, at::kLong), together.back());
      }
      auto alone = together.front().clone();
      std::vector<std::unique_ptr<TokenStepper>> joint;
      std::vector<TokenStepper*> steppers;
      for (auto& session : together) {
        joint.push_back(std::make_unique<TokenStepper>(model, session, Adaptation::write));
        steppers.push_back(joint.back().get());
      }
      TokenStepper single(model, alone, Adaptation::write);
      for (int64_t count = 0; count < 9; ++count) {
        const int64_t token = count * 5 % sample_vocabulary;
        ASSERT_TRUE(at::equal(step(steppers, token).front(), step({&single}, token).front())) << count;
      }
    }
}

TEST(Stepping, HiddenStatesOfAdvancingGiveTheLogitsOfReading) {
  const at::NoGradGuard no_grad;
  at::manual_seed(4);
  for (const auto& [name, base] : sample_bases()) {
    SCOPED_TRACE(name);
    const auto model = model_with_layer(base);
    auto advanced = model.new_session(), read = model.new_session();
    const auto text = at::randint(sample_vocabulary, {1, 21}, at::kLong);
    const auto hidden = advance(model, text, advanced, Adaptation::off);    // 1,21,D
    const auto losses = model.read(text, read, {Adaptation::off}).adapted;  // 1,20
    const auto logits = logits_of(model, hidden.slice(1, 0, 20), advanced, Adaptation::off);
    const auto expected = -at::log_softmax(logits, -1).gather(1, text.slice(1, 1).view({-1, 1})).view({1, -1});
    EXPECT_TRUE(at::allclose(losses, expected, 1e-4, 1e-4));
    EXPECT_EQ(advanced.tokens_read(), read.tokens_read());
  }
}

}  // namespace
}  // namespace fwl
