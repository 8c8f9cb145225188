#include "generate/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace fwl {
namespace {

const std::vector<float> logits = {1.0F, 3.0F, 2.0F, -1.0F, 2.5F, 0.0F};

SamplerOptions open_sampler() {
  SamplerOptions options;
  options.temperature = 1;
  options.top_k = 0;
  options.top_p = 1;
  options.min_p = 0;
  return options;
}

std::vector<double> softmax(double temperature) {
  std::vector<double> all;
  double sum = 0;
  for (const auto logit : logits) sum += all.emplace_back(std::exp(logit / temperature));
  for (auto& one : all) one /= sum;
  return all;
}

std::vector<int64_t> tokens_of(const std::vector<Sampler::Candidate>& candidates) {
  std::vector<int64_t> tokens;
  for (const auto& one : candidates) tokens.push_back(one.token);
  return tokens;
}

TEST(Sampler, ZeroTemperatureTakesTheLikeliestAndOfEqualOnesTheFirst) {
  SamplerOptions options;
  options.temperature = 0;
  SamplerState state;
  EXPECT_EQ(Sampler(options).choose(logits, state), 1);
  EXPECT_EQ(state.draws, 0);
  EXPECT_EQ(Sampler(options).choose(std::vector<float>{0, 2, 2}, state), 1);
}

TEST(Sampler, DrawsFollowTheProbabilities) {
  auto options = open_sampler();
  options.temperature = 1.3;
  const Sampler sampler(options);
  SamplerState state;
  state.seed = 42;
  constexpr int draws = 60000;
  std::map<int64_t, int> seen;
  for (int draw = 0; draw < draws; ++draw) ++seen[sampler.choose(logits, state)];
  const auto expected = softmax(1.3);
  double chi_squared = 0;
  for (size_t token = 0; token < logits.size(); ++token) {
    const double mean = draws * expected[token];
    chi_squared += std::pow(seen[static_cast<int64_t>(token)] - mean, 2) / mean;
  }
  EXPECT_LT(chi_squared, 20.5);  // 5 degrees of freedom: exceeded once in a thousand seeds
  EXPECT_EQ(state.draws, draws);
}

TEST(Sampler, SeedsReproduceAndDiffer) {
  const Sampler sampler(open_sampler());
  const auto choices = [&](int64_t seed) {
    SamplerState state;
    state.seed = seed;
    std::vector<int64_t> all;
    for (int draw = 0; draw < 200; ++draw) all.push_back(sampler.choose(logits, state));
    return all;
  };
  EXPECT_EQ(choices(1), choices(1));
  EXPECT_NE(choices(1), choices(2));
}

TEST(Sampler, UniformDrawsAreUniformAndIndependent) {
  constexpr int draws = 100000;
  double sum = 0, squares = 0, neighbours = 0, before = 0.5;
  for (int draw = 0; draw < draws; ++draw) {
    const double value = uniform_draw(7, draw);
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value - 0.5;
    squares += (value - 0.5) * (value - 0.5);
    neighbours += (value - 0.5) * (before - 0.5);
    before = value;
  }
  EXPECT_NEAR(sum / draws, 0, 0.004);
  EXPECT_NEAR(squares / draws, 1.0 / 12, 0.001);
  EXPECT_NEAR(neighbours / draws, 0, 0.001);
}

TEST(Sampler, TopKTopPAndMinPKeepTheLikeliest) {
  auto options = open_sampler();
  EXPECT_EQ(tokens_of(Sampler(options).candidates(logits, {})), (std::vector<int64_t>{1, 4, 2, 0, 5, 3}));
  options.top_k = 3;
  EXPECT_EQ(tokens_of(Sampler(options).candidates(logits, {})), (std::vector<int64_t>{1, 4, 2}));
  options = open_sampler();
  const auto probabilities = softmax(1);
  options.top_p = probabilities[1] + probabilities[4] - 1e-6;
  EXPECT_EQ(tokens_of(Sampler(options).candidates(logits, {})), (std::vector<int64_t>{1, 4}));
  options.top_p = 0;
  EXPECT_EQ(tokens_of(Sampler(options).candidates(logits, {})), (std::vector<int64_t>{1}));
  options = open_sampler();
  options.min_p = std::exp(-1.0) - 1e-6;
  EXPECT_EQ(tokens_of(Sampler(options).candidates(logits, {})), (std::vector<int64_t>{1, 4, 2}));
  double sum = 0;
  for (const auto& one : Sampler(options).candidates(logits, {})) sum += one.probability;
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(Sampler, ThePenaltyLooksBackAsFarAsItShould) {
  auto options = open_sampler();
  options.repeat_penalty = 2;
  options.repeat_last = 2;
  const std::vector<int64_t> recent = {4, 1, 3};  // 4 is too long ago; -1 of token 3 becomes -2
  const auto all = Sampler(options).candidates(logits, recent);
  const auto logit_of = [&](int64_t token) {
    for (const auto& one : all)
      if (one.token == token) return one.logit;
    return 0.0;
  };
  EXPECT_EQ(logit_of(4), 2.5);
  EXPECT_EQ(logit_of(1), 1.5);
  EXPECT_EQ(logit_of(3), -2);
}

}  // namespace
}  // namespace fwl
