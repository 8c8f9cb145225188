#include "attention/attention.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/tensor_checks.h"

namespace fwl {
namespace {

// Float kernels against double: a few times the rounding of one float, because sums of hundreds of terms average out.
constexpr double float_tolerance = 3e-6;

// Which keys a query sees, by positions in the text and in the words of the definition.
struct Sight {
  std::string name;
  VisibleKeys visible;
  std::function<bool(int64_t, int64_t)> sees;
};

Sight sees_all() {
  return {"all", VisibleKeys::all(), [](int64_t, int64_t) { return true; }};
}
Sight sees_last(int64_t tokens) {
  return {fmt::format("last {}", tokens), VisibleKeys::sliding(tokens),
          [=](int64_t query, int64_t key) { return query - key < tokens; }};
}
Sight sees_two_blocks(int64_t tokens) {
  return {fmt::format("two blocks of {}", tokens), VisibleKeys::blocks(tokens),
          [=](int64_t query, int64_t key) { return query / tokens - key / tokens <= 1; }};
}

// softmax(q k^T / sqrt(d)) v with a full T x K table of what is hidden.
at::Tensor plain_attention(const std::vector<at::Tensor>& inputs, int64_t first_position, const Sight& sight) {
  const auto& queries = inputs[0];
  const int64_t heads = queries.size(1), tokens = queries.size(2), count = inputs[1].size(2);
  const auto for_heads = [&](const at::Tensor& x) { return x.repeat_interleave(heads / x.size(1), 1); };
  std::vector<uint8_t> hides;
  for (int64_t query = count - tokens; query < count; ++query)
    for (int64_t key = 0; key < count; ++key)
      hides.push_back(key > query || !sight.sees(first_position + query, first_position + key));
  const auto hidden = at::tensor(hides, at::kByte).to(at::kBool).view({tokens, count});  // T,K
  const auto scores = at::matmul(queries, for_heads(inputs[1]).transpose(2, 3)) /
                      std::sqrt(static_cast<double>(queries.size(3)));          // B,heads,T,K
  const auto weights = scores.masked_fill(hidden, -INFINITY).softmax(-1);       // B,heads,T,K
  return at::matmul(weights, for_heads(inputs[2])).transpose(1, 2).flatten(2);  // B,T,heads * d
}

struct Example {
  int64_t tokens, past, first_position, heads, key_heads, width;
  std::vector<at::Tensor> inputs;  // queries, keys, values
  at::Tensor upstream;

  Example(int64_t tokens_, int64_t past_, int64_t first, int64_t key_heads_ = 2, int64_t heads_ = 4, int64_t width_ = 8)
      : tokens(tokens_), past(past_), first_position(first), heads(heads_), key_heads(key_heads_), width(width_) {
    at::manual_seed(tokens + 1000 * past);
    inputs = {at::randn({2, heads, tokens, width}), at::randn({2, key_heads, past + tokens, width}),
              at::randn({2, key_heads, past + tokens, width})};
    upstream = at::randn({2, tokens, heads * width});
  }
  std::string name() const {
    return fmt::format("{} tokens after {} from {}, {} of {} heads", tokens, past, first_position, key_heads, heads);
  }
};

void expect_the_definition(const Example& example, const Sight& sight) {
  const auto definition = [&](const std::vector<at::Tensor>& inputs) {
    return plain_attention(inputs, example.first_position, sight);
  };
  const auto attention = [&](const std::vector<at::Tensor>& inputs) {
    return causal_attention(inputs[0], inputs[1], inputs[2], example.first_position, sight.visible);
  };
  const auto expected = differentiate(definition, example.inputs, example.upstream, at::kDouble);
  for (const auto& [type, tolerance] : {std::pair{at::kFloat, float_tolerance}, {at::kDouble, 1e-13}}) {
    const auto actual = differentiate(attention, example.inputs, example.upstream, type);
    const auto where = fmt::format("{}, {}, {}", example.name(), sight.name, at::toString(type));
    EXPECT_LT(relative_difference(actual.value, expected.value), tolerance) << where;
    for (size_t index = 0; index < 3; ++index)
      EXPECT_LT(relative_difference(actual.gradients[index], expected.gradients[index]), tolerance)
          << where << ", gradient of " << std::vector{"queries", "keys", "values"}[index];
  }
  const at::NoGradGuard no_grad;
  EXPECT_LT(relative_difference(attention(example.inputs), expected.value), float_tolerance) << example.name();
}

TEST(CausalAttention, TheDefinitionsGradientsAreItsFiniteDifferences) {
  const Example example(13, 4, 3);
  for (const auto& sight : {sees_all(), sees_last(5), sees_two_blocks(4)}) {
    const auto definition = [&](const std::vector<at::Tensor>& x) { return plain_attention(x, 3, sight); };
    const auto attention = [&](const std::vector<at::Tensor>& x) {
      return causal_attention(x[0], x[1], x[2], 3, sight.visible);
    };
    const std::vector<at::Tensor> directions = {at::randn_like(example.inputs[0]), at::randn_like(example.inputs[1]),
                                                at::randn_like(example.inputs[2])};
    const double expected = numeric_slope(definition, example.inputs, directions, example.upstream);
    const auto by_definition = differentiate(definition, example.inputs, example.upstream, at::kDouble);
    const auto by_kernel = differentiate(attention, example.inputs, example.upstream, at::kFloat);
    EXPECT_NEAR(slope(by_definition.gradients, directions), expected, 1e-7 * std::abs(expected)) << sight.name;
    EXPECT_NEAR(slope(by_kernel.gradients, directions), expected, 1e-5 * std::abs(expected)) << sight.name;
  }
}

TEST(CausalAttention, GradientsAreTheDefinitionsAroundTheSizeOfABlock) {
  for (const int64_t tokens : {1, 2, 63, 64, 65, 128, 131})
    for (const auto& sight : {sees_all(), sees_last(7), sees_last(64), sees_two_blocks(6), sees_two_blocks(64)})
      expect_the_definition(Example(tokens, 0, 0), sight);
}

TEST(CausalAttention, GradientsAreTheDefinitionsBehindACacheThatDoesNotStartTheText) {
  for (const int64_t tokens : {1, 5, 64, 67})
    for (const int64_t past : {1, 9, 70})
      for (const auto& sight : {sees_all(), sees_last(1), sees_last(11), sees_two_blocks(6), sees_two_blocks(65)}) {
        expect_the_definition(Example(tokens, past, 0), sight);
        expect_the_definition(Example(tokens, past, 17), sight);
      }
}

TEST(CausalAttention, GradientsAreTheDefinitionsForEveryNumberOfKeyHeadsAndOddWidths) {
  for (const int64_t key_heads : {1, 2, 3, 6})
    for (const int64_t width : {1, 5, 16, 33}) {
      const Example example(70, 3, 2, key_heads, 6, width);
      for (const auto& sight : {sees_all(), sees_last(20), sees_two_blocks(16)}) expect_the_definition(example, sight);
    }
}

TEST(CausalAttention, TheEnginesFusedFormForLongTextsIsTheDefinition) {
  for (const int64_t tokens : {255, 256, 257})
    for (const int64_t key_heads : {1, 2}) {
      const Example example(tokens, 0, 0, key_heads, 2, 16);
      expect_the_definition(example, sees_all());
      expect_the_definition(example, sees_last(tokens));      // sees all, so that it takes the fused form too
      expect_the_definition(example, sees_last(tokens - 1));  // and this one must not
    }
}

TEST(CausalAttention, TakesViewsOfEveryLayout) {
  const Example example(67, 5, 1);
  for (const auto& sight : {sees_all(), sees_last(9)}) {
    const auto run = [&](const std::vector<int64_t>& order) {
      const auto attention = [&](const std::vector<at::Tensor>& x) {
        const auto view = [&](const at::Tensor& tensor) {
          std::vector<int64_t> back(4);
          for (int64_t index = 0; index < 4; ++index) back[order[index]] = index;
          return tensor.permute(order).contiguous().permute(back);
        };
        return causal_attention(view(x[0]), view(x[1]), view(x[2]), 1, sight.visible);
      };
      return differentiate(attention, example.inputs, example.upstream, at::kFloat);
    };
    const auto expected = run({0, 1, 2, 3});
    for (const auto& order :
         std::vector<std::vector<int64_t>>{{0, 2, 1, 3}, {0, 1, 3, 2}, {3, 2, 1, 0}, {2, 0, 3, 1}}) {
      const auto actual = run(order);
      EXPECT_LT(relative_difference(actual.value, expected.value), 1e-6);
      for (size_t index = 0; index < 3; ++index)
        EXPECT_LT(relative_difference(actual.gradients[index], expected.gradients[index]), 1e-6);
    }
  }
}

TEST(CausalAttention, TakesAnUpstreamThatIsTheSameForEveryToken) {
  const Example example(67, 0, 0);
  const auto row = at::randn({2, 1, 32}), spread = row.expand({2, 67, 32});
  const auto attention = [&](const std::vector<at::Tensor>& x) {
    return causal_attention(x[0], x[1], x[2], 0, VisibleKeys::all());
  };
  const auto expected = differentiate(attention, example.inputs, spread.contiguous(), at::kFloat);
  const auto actual = differentiate(attention, example.inputs, spread, at::kFloat);
  for (size_t index = 0; index < 3; ++index)
    EXPECT_LT(relative_difference(actual.gradients[index], expected.gradients[index]), 1e-6);
}

TEST(CausalAttention, IsTheSameOnEveryNumberOfThreads) {
  for (const int64_t tokens : {1, 40, 130, 300})
    for (const auto& sight : {sees_all(), sees_last(30), sees_two_blocks(50)}) {
      const Example example(tokens, tokens == 300 ? 0 : 50, 0);
      const auto run = [&](int threads) {
        const Threads count(threads);
        const auto attention = [&](const std::vector<at::Tensor>& x) {
          return causal_attention(x[0], x[1], x[2], 0, sight.visible);
        };
        return differentiate(attention, example.inputs, example.upstream, at::kFloat);
      };
      const auto alone = run(1);
      for (const int threads : {2, 3, 7}) {
        const auto together = run(threads);
        EXPECT_LT(relative_difference(together.value, alone.value), 1e-6) << example.name() << " " << threads;
        for (size_t index = 0; index < 3; ++index)
          EXPECT_LT(relative_difference(together.gradients[index], alone.gradients[index]), 1e-6)
              << example.name() << ", " << sight.name << ", threads " << threads;
      }
    }
}

}  // namespace
}  // namespace fwl
