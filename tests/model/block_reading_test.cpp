// Memories in the blocks of a base: every way to read a text gives the same losses and the same state.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "base/base_samples.h"
#include "blocks/block_config.h"
#include "model/language_model.h"
#include "support/scratch.h"

namespace fwl {
namespace {

constexpr int64_t chunk = 6;

BlockConfig sample_config() {
  BlockConfig config;
  config.at = "all";
  config.rank = 5;
  config.chunk_tokens = chunk;
  config.step = 4;
  config.decay = 0.9;
  config.max_update = 2;
  config.warmup_chunks = 2;
  return config;
}

LanguageModel with_blocks(const std::shared_ptr<BaseModel>& base, const BlockConfig& config = sample_config(),
                          bool is_first_order = false) {
  FreshWeights fresh(7, base->options());
  return {base, nullptr, nullptr, config.make(base->blocks(), base->hidden_size(), fresh, is_first_order)};
}

at::Tensor random_text(int64_t sequences, int64_t tokens) {
  return at::randint(sample_vocabulary, {sequences, tokens}, at::kLong);
}

at::Tensor weights_of(const Session& session) {
  return session.blocks.fast.tensors.at("W");
}

struct ReadText {
  at::Tensor losses;
  Session session;
};

ReadText read_in_parts(const LanguageModel& model, const at::Tensor& text, const std::vector<int64_t>& lengths,
                       const ContextOptions& context) {
  const at::NoGradGuard no_grad;
  auto session = model.new_session(text.size(0), context);
  std::vector<at::Tensor> losses;
  int64_t start = 0;
  for (const auto length : lengths) {
    losses.push_back(model.read(text.narrow(1, start, length), session).adapted);
    start += length;
  }
  return {at::cat(losses, 1), std::move(session)};
}

void expect_equal(const ReadText& one, const ReadText& other, const LanguageModel& model) {
  EXPECT_TRUE(at::allclose(one.losses, other.losses, 1e-8, 1e-8));
  EXPECT_TRUE(at::allclose(weights_of(one.session), weights_of(other.session), 1e-8, 1e-8));
  EXPECT_TRUE(at::allclose(model.next_logits(one.session), model.next_logits(other.session), 1e-8, 1e-8));
}

TEST(BlockReading, BeforeTheFirstUpdateTheModelIsItsBaseBitForBit) {
  const at::NoGradGuard no_grad;
  at::manual_seed(1);
  for (const auto& [name, base] : sample_bases()) {
    const LanguageModel plain(base, nullptr);
    const auto model = with_blocks(base);
    const auto text = random_text(2, chunk);
    auto session = model.new_session(2), plain_session = plain.new_session(2);
    EXPECT_TRUE(at::equal(model.read(text, session).adapted, plain.read(text, plain_session).adapted)) << name;
    EXPECT_TRUE(at::equal(model.next_logits(session), plain.next_logits(plain_session))) << name;
  }
}

TEST(BlockReading, WholeSegmentsAndSingleTokensGiveTheSameLossesAndState) {
  at::manual_seed(2);
  for (const auto& [name, base] : sample_bases(at::kDouble)) {
    SCOPED_TRACE(name);
    const auto model = with_blocks(base);
    const auto text = random_text(2, 40);
    const auto whole = read_in_parts(model, text, {40}, base->default_context());
    EXPECT_GT(weights_of(whole.session).abs().max().item<double>(), 1e-3);
    for (const auto& lengths :
         std::vector<std::vector<int64_t>>{std::vector<int64_t>(40, 1), {3, 6, 1, 17, 13}, {6, 6, 6, 6, 16}}) {
      expect_equal(read_in_parts(model, text, lengths, base->default_context()), whole, model);
    }
  }
}

// The plain rule and one pass are tested everywhere else.
std::vector<BlockConfig> other_rules() {
  std::vector<BlockConfig> configs;
  for (const std::string rule : {"momentum", "orthogonal", "plain"}) {
    auto config = sample_config();
    config.rule = rule;
    config.passes = rule == "plain" ? 3 : 1;
    configs.push_back(config);
  }
  return configs;
}

TEST(BlockReading, EveryRuleGivesTheSameInPartsInBatchesAndFromFiles) {
  at::manual_seed(12);
  for (const auto& config : other_rules()) {
    for (const auto& [name, base] : sample_bases(at::kDouble)) {
      SCOPED_TRACE(name + " " + config.rule);
      const auto model = with_blocks(base, config);
      const auto text = random_text(2, 40);
      const auto whole = read_in_parts(model, text, {40}, base->default_context());
      const auto plain = read_in_parts(with_blocks(base), text, {40}, base->default_context());
      EXPECT_FALSE(at::allclose(weights_of(whole.session), weights_of(plain.session), 1e-3, 1e-3));
      expect_equal(read_in_parts(model, text, {3, 6, 1, 17, 13}, base->default_context()), whole, model);
      const auto alone = read_in_parts(model, text.narrow(0, 1, 1), {40}, base->default_context());
      EXPECT_TRUE(at::allclose(whole.losses[1], alone.losses[0], 1e-8, 1e-8));
      EXPECT_EQ(whole.session.blocks.fast.tokens_read[0], 36);  // six whole chunks

      const auto path = fresh_folder("block_rules") + "/one";
      model.save_session(whole.session, path, "this model");
      auto loaded = model.load_session(path, "this model");
      auto kept = whole.session.clone();
      const at::NoGradGuard no_grad;
      const auto more = random_text(2, 15);
      EXPECT_TRUE(at::equal(model.read(more, loaded).adapted, model.read(more, kept).adapted));
    }
  }
}

TEST(BlockReading, ChunksEndWithTheWindowOfTheBase) {
  at::manual_seed(3);
  const auto base = sample_llama(at::kDouble);
  const auto model = with_blocks(base);
  const auto text = random_text(1, 40);
  for (const auto long_text : {LongText::restart, LongText::slide}) {
    const ContextOptions context{.context_tokens = 10, .long_text = long_text};
    const auto whole = read_in_parts(model, text, {40}, context);
    expect_equal(read_in_parts(model, text, std::vector<int64_t>(40, 1), context), whole, model);
    expect_equal(read_in_parts(model, text, {9, 1, 2, 11, 17}, context), whole, model);
  }
}

TEST(BlockReading, TextsOfABatchLearnAsTheyDoAlone) {
  const at::NoGradGuard no_grad;
  at::manual_seed(4);
  for (const auto& [name, base] : sample_bases(at::kDouble)) {
    SCOPED_TRACE(name);
    const auto model = with_blocks(base);
    const auto text = random_text(3, 31);
    const auto together = read_in_parts(model, text, {20, 11}, base->default_context());
    for (int64_t row = 0; row < 3; ++row) {
      const auto alone = read_in_parts(model, text.narrow(0, row, 1), {31}, base->default_context());
      EXPECT_TRUE(at::allclose(together.losses[row], alone.losses[0], 1e-8, 1e-8));
      EXPECT_TRUE(at::allclose(weights_of(together.session)[row], weights_of(alone.session)[0], 1e-8, 1e-8));
    }
  }
}

TEST(BlockReading, SessionsAtDifferentPositionsReadInOnePassAsOneByOne) {
  const at::NoGradGuard no_grad;
  at::manual_seed(5);
  for (const auto& [name, base] : sample_bases(at::kDouble)) {
    SCOPED_TRACE(name);
    const auto model = with_blocks(base);
    auto near = model.new_session(), far = model.new_session();
    model.read(random_text(1, 4), near);
    model.read(random_text(1, 21), far);
    auto near_alone = near.clone(), far_alone = far.clone();
    for (const int64_t tokens : {1, 9, 2}) {
      const auto one = random_text(1, tokens), two = random_text(1, tokens + 3);
      const auto together = model.read({{one, &near}, {two, &far}});
      EXPECT_TRUE(at::allclose(together[0].adapted, model.read(one, near_alone).adapted, 1e-8, 1e-8));
      EXPECT_TRUE(at::allclose(together[1].adapted, model.read(two, far_alone).adapted, 1e-8, 1e-8));
    }
    EXPECT_TRUE(at::allclose(weights_of(near), weights_of(near_alone), 1e-8, 1e-8));
    EXPECT_TRUE(at::allclose(weights_of(far), weights_of(far_alone), 1e-8, 1e-8));
  }
}

TEST(BlockReading, TokensOfWeightZeroNeverTouchAMemory) {
  const at::NoGradGuard no_grad;
  at::manual_seed(6);
  for (const auto& [name, base] : sample_bases(at::kDouble)) {
    SCOPED_TRACE(name);
    const auto model = with_blocks(base);
    const auto text = random_text(1, 2 * chunk + 1);
    const auto inputs = text.narrow(1, 0, 2 * chunk), targets = text.narrow(1, 1, 2 * chunk);
    auto weights = at::ones({1, 2 * chunk}, at::kDouble);
    weights.slice(1, chunk - 2, chunk + 3).zero_();
    auto other_targets = targets.clone();
    other_targets.slice(1, chunk - 2, chunk + 3) = 3;  // of tokens that do not count
    auto session = model.new_session(), other = model.new_session(), ignored = model.new_session();
    const auto losses = model.read_targets(inputs, targets, session, {}, 0, weights).adapted;
    const auto other_losses = model.read_targets(inputs, other_targets, other, {}, 0, weights).adapted;
    EXPECT_TRUE(at::equal(losses, other_losses));
    EXPECT_EQ(losses.slice(1, chunk - 2, chunk + 3).abs().max().item<double>(), 0);
    EXPECT_TRUE(at::equal(weights_of(session), weights_of(other)));
    EXPECT_EQ(session.blocks.fast.tokens_read[0], 2 * chunk - 5);
    model.read_targets(inputs, targets, ignored, {}, 0, at::zeros_like(weights));
    EXPECT_EQ(weights_of(ignored).abs().max().item<double>(), 0);
  }
}

TEST(BlockReading, ReadingWithoutLearningUsesWhatWasLearned) {
  const at::NoGradGuard no_grad;
  at::manual_seed(7);
  const auto base = sample_llama(at::kDouble);
  const auto model = with_blocks(base);
  auto session = model.new_session();
  model.read(random_text(1, 20), session);
  const auto text = random_text(1, 15);
  auto reading = session.clone(), off = session.clone();
  const auto with = model.read(text, reading, {Adaptation::read}).adapted;
  const auto without = model.read(text, off, {Adaptation::off}).adapted;
  EXPECT_FALSE(at::allclose(with, without));
  for (const auto* later : {&reading, &off}) EXPECT_EQ(later->blocks.fast.tokens_read[0], 19);
  EXPECT_TRUE(at::allclose(weights_of(reading), weights_of(off), 1e-8, 1e-8));
}

TEST(BlockReading, SavedSessionsGoOnWithTheSameBits) {
  const at::NoGradGuard no_grad;
  at::manual_seed(8);
  for (const auto& [name, base] : sample_bases()) {
    SCOPED_TRACE(name);
    const auto model = with_blocks(base);
    for (const int64_t tokens : {4, 6, 15}) {
      auto session = model.new_session(2);
      model.read(random_text(2, tokens), session);
      const auto path = fresh_folder("block_sessions") + "/one";
      model.save_session(session, path, "this model");
      auto loaded = model.load_session(path, "this model");
      const auto text = random_text(2, 19);
      EXPECT_TRUE(at::equal(model.read(text, loaded).adapted, model.read(text, session).adapted));
      EXPECT_TRUE(at::equal(weights_of(loaded), weights_of(session)));
    }
  }
}

// The loss of three chunks, whose weights come from the updates of the chunks before. Keys and values of earlier chunks
// are constants in training, which finite differences are not told: here every chunk starts a new context.
at::Tensor outer_loss(const LanguageModel& model, const at::Tensor& text) {
  auto session = model.new_session(text.size(0));
  std::vector<at::Tensor> losses;
  for (int64_t start = 0; start + chunk < text.size(1); start += chunk) {
    model.forget_context(session);
    losses.push_back(
        model.read_targets(text.narrow(1, start, chunk), text.narrow(1, start + 1, chunk), session, ReadOptions{})
            .adapted.sum());
  }
  return at::stack(losses).sum();
}

void expect_finite_differences(const LanguageModel& model, const at::Tensor& text) {
  const auto parameters = model.blocks()->parameters();
  for (auto [name, tensor] : parameters) tensor.set_requires_grad(true);
  const auto loss = outer_loss(model, text);
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : parameters) tensors.push_back(tensor);
  const auto gradients = torch::autograd::grad({loss}, tensors);
  for (auto [name, tensor] : parameters) tensor.set_requires_grad(false);
  const at::NoGradGuard no_grad;
  for (size_t index = 0; index < tensors.size(); ++index) {
    const auto flat = tensors[index].view(-1);
    for (int64_t sample = 0; sample < 6; ++sample) {
      const auto at = at::randint(flat.numel(), {1}, at::kLong).item<int64_t>();
      const double value = flat[at].item<double>(), width = 1e-6;
      flat[at].fill_(value + width);
      const double above = outer_loss(model, text).item<double>();
      flat[at].fill_(value - width);
      const double below = outer_loss(model, text).item<double>();
      flat[at].fill_(value);
      const double expected = (above - below) / (2 * width);
      EXPECT_NEAR(gradients[index].view(-1)[at].item<double>(), expected, 1e-6 + 1e-5 * std::abs(expected))
          << parameters[index].first << " " << at;
    }
  }
}

TEST(BlockReading, TheMetaGradientIsThatOfFiniteDifferences) {
  at::manual_seed(9);
  auto config = sample_config();
  config.has_start = true;
  config.step = 0.5;  // larger ones bend the loss too much for finite differences
  for (const double bound : {0.0, 0.2}) {
    config.max_update = bound;
    for (const auto& [name, base] : sample_bases(at::kDouble)) {
      SCOPED_TRACE(name);
      for (auto [parameter, tensor] : base->parameters()) tensor.set_requires_grad(false);
      expect_finite_differences(with_blocks(base, config), random_text(2, 3 * chunk + 1));
    }
  }
}

TEST(BlockReading, TheMetaGradientOfEveryRuleIsThatOfFiniteDifferences) {
  at::manual_seed(13);
  const auto base = sample_llama(at::kDouble);
  for (auto [parameter, tensor] : base->parameters()) tensor.set_requires_grad(false);
  for (auto config : other_rules()) {
    SCOPED_TRACE(config.rule);
    config.step = 0.5;
    expect_finite_differences(with_blocks(base, config), random_text(2, 3 * chunk + 1));
  }
}

// A memory before the head, and tokens that count differently.
LanguageModel with_head_and_rates(const std::shared_ptr<BaseModel>& base, double step) {
  auto config = sample_config();
  config.at = "last-half,head";
  config.has_token_rates = true;
  config.step = step;
  auto model = with_blocks(base, config);
  const at::NoGradGuard no_grad;
  for (auto [name, tensor] : model.blocks()->parameters())
    if (name == "blocks.rates") tensor.normal_();
  return model;
}

TEST(BlockReading, AMemoryBeforeTheHeadAndRatesOfTokensGiveTheSameInPartsAndInBatches) {
  at::manual_seed(14);
  for (const auto& [name, base] : sample_bases(at::kDouble)) {
    SCOPED_TRACE(name);
    const auto model = with_head_and_rates(base, 4);
    const auto text = random_text(2, 40);
    const auto whole = read_in_parts(model, text, {40}, base->default_context());
    const auto head = weights_of(whole.session).select(1, -1);
    EXPECT_GT(head.abs().max().item<double>(), 1e-3);
    expect_equal(read_in_parts(model, text, {3, 6, 1, 17, 13}, base->default_context()), whole, model);
    const auto alone = read_in_parts(model, text.narrow(0, 1, 1), {40}, base->default_context());
    EXPECT_TRUE(at::allclose(whole.losses[1], alone.losses[0], 1e-8, 1e-8));
    auto same_rates = sample_config();
    same_rates.at = "last-half,head";
    const auto other = read_in_parts(with_blocks(base, same_rates), text, {40}, base->default_context());
    EXPECT_FALSE(at::allclose(weights_of(whole.session), weights_of(other.session), 1e-3, 1e-3));
  }
}

TEST(BlockReading, TheMetaGradientOfTheHeadsMemoryAndOfRatesIsThatOfFiniteDifferences) {
  at::manual_seed(15);
  for (const auto& [name, base] : sample_bases(at::kDouble)) {
    SCOPED_TRACE(name);
    for (auto [parameter, tensor] : base->parameters()) tensor.set_requires_grad(false);
    expect_finite_differences(with_head_and_rates(base, 0.5), random_text(2, 3 * chunk + 1));
  }
}

TEST(BlockRules, OrthogonalizedMatricesKeepTheirNormAndHaveCloseSingularValues) {
  at::manual_seed(14);
  for (const auto& shape : std::vector<std::vector<int64_t>>{{2, 5, 9}, {2, 9, 5}}) {
    const auto matrices = at::randn(shape, at::kDouble);
    const auto result = orthogonalized(matrices);
    EXPECT_TRUE(at::allclose(matrix_norms(result), matrix_norms(matrices)));
    const auto values = std::get<1>(at::linalg_svd(result));
    EXPECT_LT((values.amax(-1) / values.amin(-1)).max().item<double>(), 2.0);
    EXPECT_GT((matrices * result).sum({-2, -1}).min().item<double>(), 0.0);
  }
  EXPECT_EQ(orthogonalized(at::zeros({1, 3, 4})).abs().max().item<double>(), 0.0);
}

TEST(BlockReading, FirstOrderTrainingLeavesOutTheGradientOfTheGradient) {
  at::manual_seed(10);
  const auto base = sample_llama(at::kDouble);
  for (auto [parameter, tensor] : base->parameters()) tensor.set_requires_grad(false);
  const auto text = random_text(1, 3 * chunk + 1);
  const auto gradient = [&](bool is_first_order) {
    const auto model = with_blocks(base, sample_config(), is_first_order);
    auto steps = model.blocks()->parameters()[1].second;
    steps.set_requires_grad(true);
    return torch::autograd::grad({outer_loss(model, text)}, {steps})[0];
  };
  EXPECT_FALSE(at::allclose(gradient(true), gradient(false), 1e-3, 1e-6));
}

}  // namespace
}  // namespace fwl
