// Sessions over one language model: in one pass at different positions, and from several threads.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <future>

#include "base/base_samples.h"
#include "memory/memory_config.h"
#include "model/language_model.h"
#include "support/fields.h"

namespace fwl {
namespace {

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

std::vector<LanguageModel> sample_models() {
  std::vector<LanguageModel> models;
  for (const auto& [name, base] : sample_bases())
    for (const auto* kind : {"layer", "bias-only", "delta-rule"}) {
      MemoryChoice choice;
      Fields fields;
      add_fields(fields, choice);
      fields.set_text("test", "memory.kind", kind);
      if (std::string(kind) == "layer") fields.set_text("test", "layer.gradient_at", "boundary");
      if (std::string(kind) == "layer") fields.set_text("test", "layer.chunk_tokens", "6");
      FreshWeights fresh(5);
      auto memory = choice.make({base->hidden_size(), *base->head(), fresh});
      models.emplace_back(base, std::move(memory));
    }
  return models;
}

at::Tensor random_text(int64_t tokens) {
  return at::randint(sample_vocabulary, {1, tokens}, at::kLong);
}

TEST(Sessions, AtDifferentPositionsReadInOnePassAsOneByOne) {
  const at::NoGradGuard no_grad;
  at::manual_seed(8);
  for (const auto& model : sample_models()) {
    SCOPED_TRACE(model.base().architecture() + " " + model.memory()->kind());
    auto near = model.new_session(), far = model.new_session(), fresh = model.new_session();
    model.read(random_text(3), near);
    model.read(random_text(14), far);
    std::vector<Session> alone;
    for (const auto* session : {&near, &far, &fresh}) alone.push_back(session->clone());
    for (const int64_t tokens : {1, 7, 1}) {
      const std::vector<at::Tensor> texts = {random_text(tokens), random_text(1), random_text(tokens + 2)};
      const auto together = model.read({{texts[0], &near}, {texts[1], &far}, {texts[2], &fresh}});
      for (size_t index = 0; index < texts.size(); ++index) {
        const auto expected = model.read(texts[index], alone[index]).adapted;
        ASSERT_EQ(together[index].adapted.sizes(), expected.sizes());
        EXPECT_TRUE(at::allclose(together[index].adapted, expected, 1e-4, 1e-4));
      }
    }
    EXPECT_LT(largest_difference(model.next_logits(far), model.next_logits(alone[1])), 1e-4);
    EXPECT_EQ(far.tokens_read(), alone[1].tokens_read());
  }
}

TEST(Sessions, ReadFromTwoThreadsAsFromOne) {
  at::manual_seed(9);
  for (const auto& model : sample_models()) {
    SCOPED_TRACE(model.base().architecture() + " " + model.memory()->kind());
    const auto one = random_text(40), two = random_text(33);
    const auto read = [&model](const at::Tensor& text) {
      return std::async(std::launch::async, [&model, text] {
        const at::NoGradGuard no_grad;
        auto session = model.new_session();
        return model.read(text, session).adapted;
      });
    };
    const auto expected_one = read(one).get(), expected_two = read(two).get();
    for (int repeat = 0; repeat < 5; ++repeat) {
      auto first = read(one), second = read(two);
      EXPECT_TRUE(at::equal(first.get(), expected_one));
      EXPECT_TRUE(at::equal(second.get(), expected_two));
    }
  }
}

TEST(Sessions, StayOnTheDeviceOfTheirModel) {
  for (auto& model : sample_models()) {
    model.to(at::kCPU);
    EXPECT_EQ(model.device(), at::Device(at::kCPU));
    auto session = model.new_session();
    const at::NoGradGuard no_grad;
    model.read(random_text(9), session);
    for (const auto& [name, tensor] : session.fast.tensors) EXPECT_EQ(tensor.device(), model.device()) << name;
  }
}

}  // namespace
}  // namespace fwl
