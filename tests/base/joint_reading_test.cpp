// Several states in one pass: the same hidden states and states as one by one.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "base/base_samples.h"
#include "support/error.h"

namespace fwl {
namespace {

struct JointCase {
  std::string name;
  std::shared_ptr<BaseModel> model;
  ContextOptions context;
};

std::vector<JointCase> joint_cases(const at::TensorOptions& options = at::kFloat) {
  std::vector<JointCase> cases;
  for (const auto& [name, model] : sample_bases(options)) cases.push_back({name, model, model->default_context()});
  const ContextOptions restart{.context_tokens = 8, .long_text = LongText::restart};
  cases.push_back({"llama, restart", sample_llama(options), restart});
  cases.push_back({"gpt2, restart", sample_gpt2(options), restart});
  return cases;
}

at::Tensor random_tokens(int64_t sequences, int64_t count) {
  return at::randint(sample_vocabulary, {sequences, count}, at::kLong);
}

void expect_same(const at::Tensor& a, const at::Tensor& b, const std::string& what) {
  ASSERT_EQ(a.sizes(), b.sizes()) << what;
  EXPECT_LT((a - b).abs().max().item<double>(), 2e-5) << what;
}

void expect_same(const BaseModel& model, const BaseState& given_a, const BaseState& given_b, const std::string& what) {
  const auto a = model.trimmed(given_a), b = model.trimmed(given_b);
  EXPECT_EQ(a.tokens_read, b.tokens_read) << what;
  EXPECT_EQ(a.cached_tokens, b.cached_tokens) << what;
  EXPECT_EQ(a.window_start, b.window_start) << what;
  ASSERT_EQ(a.cache.size(), b.cache.size()) << what;
  for (size_t index = 0; index < a.cache.size(); ++index) expect_same(a.cache[index], b.cache[index], what);
  EXPECT_EQ(a.recent.defined(), b.recent.defined()) << what;
  if (a.recent.defined()) {
    EXPECT_TRUE(at::equal(a.recent, b.recent)) << what;
  }
}

TEST(JointReading, EqualsReadingOneByOneAtAllPositionsAndLengths) {
  const at::NoGradGuard no_grad;
  at::manual_seed(1);
  for (const auto& [name, model, context] : joint_cases()) {
    std::vector<BaseState> joint, single;
    for (const int64_t start : {0, 3, 7, 21, 1}) {  // that each state has read before; they hold 1, 2, 3, 1, 2 texts
      const int64_t sequences = static_cast<int64_t>(joint.size()) % 3 + 1;
      joint.push_back(model->new_state(sequences, context));
      if (start > 0) model->read(random_tokens(sequences, start), joint.back());
      single.push_back(joint.back().clone());
    }
    for (const auto& counts : std::vector<std::vector<int64_t>>{{5, 1, 13, 1, 20}, {1, 1, 1, 1, 1}, {2, 9, 1, 17, 4}}) {
      std::vector<TokenSpan> spans;
      for (size_t index = 0; index < joint.size(); ++index)
        spans.push_back({random_tokens(joint[index].sequences, counts[index]), &joint[index]});
      const auto hidden = model->read(spans);
      for (size_t index = 0; index < joint.size(); ++index) {
        expect_same(hidden[index], model->read(spans[index].tokens, single[index]), name);
        expect_same(*model, joint[index], single[index], name);
      }
    }
    const auto more = random_tokens(2, 6);  // going on alone after reading together
    expect_same(model->read(more, joint[1]), model->read(more, single[1]), name);
  }
}

TEST(JointReading, StatesOfDifferentContextsShareAPass) {
  const at::NoGradGuard no_grad;
  at::manual_seed(2);
  const auto model = sample_llama(at::kFloat);
  std::vector<BaseState> joint, single;
  for (const auto& context : std::vector<ContextOptions>{{},
                                                         {.context_tokens = 8, .long_text = LongText::restart},
                                                         {.context_tokens = 5, .long_text = LongText::slide}}) {
    joint.push_back(model->new_state(1, context));
    single.push_back(model->new_state(1, context));
  }
  const auto text = random_tokens(1, 40);
  const auto hidden = model->read({{text, &joint[0]}, {text, &joint[1]}, {text.narrow(1, 0, 11), &joint[2]}});
  expect_same(hidden[0], model->read(text, single[0]), "no end");
  expect_same(hidden[1], model->read(text, single[1]), "restart");
  expect_same(hidden[2], model->read(text.narrow(1, 0, 11), single[2]), "slide");
}

TEST(JointReading, GradientsAreTheSumOfThoseOfEachSpan) {
  at::manual_seed(3);
  for (const auto& [name, model, context] : joint_cases(at::kDouble)) {
    std::vector<at::Tensor> weights;
    for (const auto& [parameter, tensor] : model->parameters()) weights.push_back(tensor.requires_grad_());
    const auto one = random_tokens(2, 6), two = random_tokens(1, 4);
    const auto gradients = [&](bool is_joint) {
      auto a = model->new_state(2, context), b = model->new_state(1, context);
      const auto hidden = is_joint ? model->read({{one, &a}, {two, &b}})
                                   : std::vector<at::Tensor>{model->read(one, a), model->read(two, b)};
      return torch::autograd::grad({hidden[0].square().sum() + hidden[1].pow(3).sum()}, weights, {}, false, false,
                                   true);
    };
    const auto joint = gradients(true), single = gradients(false);
    for (size_t index = 0; index < joint.size(); ++index) {
      ASSERT_EQ(joint[index].defined(), single[index].defined());
      if (joint[index].defined()) {
        EXPECT_TRUE(at::allclose(joint[index], single[index], 1e-8, 1e-10)) << name;
      }
    }
  }
}

TEST(JointReading, MovesNoStateWhenOneSpanIsRefused) {
  const at::NoGradGuard no_grad;
  const auto model = sample_gpt2(at::kFloat);
  auto good = model->new_state(1), full = model->new_state(1);
  EXPECT_THROW(model->read({{random_tokens(1, 5), &good}, {random_tokens(1, 65), &full}}), UserError);
  EXPECT_THROW(model->read({{random_tokens(1, 5), &good}, {random_tokens(2, 5), &full}}), UserError);
  EXPECT_EQ(good.tokens_read, 0);
  EXPECT_ANY_THROW(model->read({{random_tokens(1, 5), &good}, {random_tokens(1, 5), &good}}));
}

}  // namespace
}  // namespace fwl
