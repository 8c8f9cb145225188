#include "attention/relative_attention.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/tensor_checks.h"

namespace fwl {
namespace {

constexpr double float_tolerance = 3e-6;

// Queries, keys, values, the keys of distances, and the two biases.
std::vector<at::Tensor> random_inputs(int64_t tokens, int64_t past) {
  at::manual_seed(tokens + 1000 * past);
  const int64_t keys = tokens + past;
  return {at::randn({2, 3, tokens, 8}), at::randn({2, 3, keys, 8}), at::randn({2, 3, keys, 8}),
          at::randn({3, keys, 8}),      at::randn({3, 8}),          at::randn({3, 8})};
}

at::Tensor attend(const std::vector<at::Tensor>& x, int64_t seen_tokens) {
  return relative_attention(x[0], x[1], x[2], x[3], {x[4], x[5]}, seen_tokens);
}

// The score of query i and key j: (q_i + content bias) . k_j + (q_i + position bias) . r at their distance.
at::Tensor plain_attention(const std::vector<at::Tensor>& x, int64_t seen_tokens) {
  const int64_t tokens = x[0].size(2), keys = x[1].size(2);
  std::vector<uint8_t> hides;
  std::vector<int64_t> entries;  // of the list of distances, which starts at the greatest
  for (int64_t query = keys - tokens; query < keys; ++query)
    for (int64_t key = 0; key < keys; ++key) {
      const int64_t distance = query - key;
      hides.push_back(distance < 0 || (seen_tokens > 0 && distance >= seen_tokens));
      entries.push_back(keys - 1 - std::max<int64_t>(0, distance));
    }
  const auto hidden = at::tensor(hides, at::kByte).to(at::kBool).view({tokens, keys});  // T,K
  const auto by_distance =
      x[3].index_select(1, at::tensor(entries, at::kLong)).view({3, tokens, keys, 8});           // heads,T,K,d
  const auto content = at::einsum("bhtd,bhkd->bhtk", {x[0] + x[4].unsqueeze(1), x[1]});          // B,heads,T,K
  const auto position = at::einsum("bhtd,htkd->bhtk", {x[0] + x[5].unsqueeze(1), by_distance});  // B,heads,T,K
  const auto weights = ((content + position) / std::sqrt(8.0)).masked_fill(hidden, -INFINITY).softmax(-1);
  return at::matmul(weights, x[2]).transpose(1, 2).flatten(2);
}

TEST(RelativeAttention, ValuesAndGradientsAreTheDefinitions) {
  for (const int64_t tokens : {1, 5, 64, 131})
    for (const int64_t past : {0, 1, 70})
      for (const int64_t seen : {0, 1, 6, 64}) {
        const auto where = fmt::format("{} tokens after {}, {} seen", tokens, past, seen);
        const auto inputs = random_inputs(tokens, past);
        const auto upstream = at::randn({2, tokens, 24});
        const auto definition = [&](const std::vector<at::Tensor>& x) { return plain_attention(x, seen); };
        const auto attention = [&](const std::vector<at::Tensor>& x) { return attend(x, seen); };
        const auto expected = differentiate(definition, inputs, upstream, at::kDouble);
        for (const auto& [type, tolerance] : {std::pair{at::kFloat, float_tolerance}, {at::kDouble, 1e-13}}) {
          const auto actual = differentiate(attention, inputs, upstream, type);
          EXPECT_LT(relative_difference(actual.value, expected.value), tolerance) << where;
          for (size_t index = 0; index < inputs.size(); ++index)
            EXPECT_LT(relative_difference(actual.gradients[index], expected.gradients[index]), tolerance)
                << where << ", gradient " << index;
        }
        const at::NoGradGuard no_grad;
        EXPECT_LT(relative_difference(attend(inputs, seen), expected.value), float_tolerance) << where << ", kernel";
      }
}

TEST(RelativeAttention, TheDefinitionsGradientsAreItsFiniteDifferences) {
  const auto inputs = random_inputs(9, 4);
  const auto upstream = at::randn({2, 9, 24});
  const auto definition = [&](const std::vector<at::Tensor>& x) { return plain_attention(x, 6); };
  std::vector<at::Tensor> directions;
  for (const auto& input : inputs) directions.push_back(at::randn_like(input));
  const double expected = numeric_slope(definition, inputs, directions, upstream);
  const auto actual = differentiate(definition, inputs, upstream, at::kDouble);
  EXPECT_NEAR(slope(actual.gradients, directions), expected, 1e-7 * std::abs(expected));
}

TEST(RelativeAttention, EveryInputGetsItsGradientThoughTheOthersAreFrozen) {
  for (size_t wanted = 0; wanted < 6; ++wanted) {
    auto inputs = random_inputs(5, 3);
    inputs[wanted].requires_grad_();
    const auto value = attend(inputs, 0);
    ASSERT_TRUE(value.requires_grad()) << wanted;
    value.square().sum().backward();
    EXPECT_GT(inputs[wanted].grad().abs().max().item<double>(), 1e-3) << wanted;
  }
}

TEST(RelativeAttention, IsTheSameOnEveryNumberOfThreads) {
  const at::NoGradGuard no_grad;
  for (const int64_t tokens : {1, 40, 130}) {
    const auto inputs = random_inputs(tokens, 50);
    const auto run = [&](int threads) {
      const Threads count(threads);
      return attend(inputs, 60);
    };
    const auto alone = run(1);
    for (const int threads : {2, 3, 7}) EXPECT_LT(relative_difference(run(threads), alone), 1e-6) << tokens;
  }
}

}  // namespace
}  // namespace fwl
