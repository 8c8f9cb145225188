#include "model/cost.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "architecture/base_config.h"
#include "blocks/block_config.h"

namespace fwl {
namespace {

// Fresh weights whose matrices are quantised, as those of a mapped file are.
class QuantizedWeights : public FreshWeights {
 public:
  QuantizedWeights() : FreshWeights(1) {}
  Matrix matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) override {
    const auto values = tensor(name, {rows, columns}, initial).to(at::kHalf);
    return {values.view(at::kByte), GgufType::F16, columns};
  }
};

BaseConfig small_llama(bool is_tied) {
  return base_config(
      "llama", 50,
      {{"layers", 2}, {"hidden_size", 8}, {"heads", 2}, {"kv_heads", 1}, {"ffn_size", 12}, {"tied", is_tied}});
}

std::vector<PartCost> costs_of(const BaseConfig& config, WeightSource& weights, int64_t tokens) {
  return costs(LanguageModel(config.make(weights), nullptr), {tokens, false});
}

const PartCost& part(const std::vector<PartCost>& parts, const std::string& name) {
  return *std::ranges::find(parts, name, &PartCost::part);
}

TEST(Cost, OfASmallLlamaIsWhatOneCountsByHand) {
  FreshWeights weights(1);
  const auto parts = costs_of(small_llama(true), weights, 3);
  // Per layer: queries and output 8 x 8, keys and values 4 x 8, three maps 8 x 12; gains of 8, two per layer and one.
  const int64_t matrices = 2 * (2 * 64 + 2 * 32 + 3 * 96);
  EXPECT_EQ(part(parts, "embedding").parameters, 50 * 8);
  EXPECT_EQ(part(parts, "embedding").scoring_flops, 0);
  EXPECT_EQ(part(parts, "base").parameters, matrices + 5 * 8);
  EXPECT_EQ(part(parts, "base").scoring_flops, 2 * matrices);
  EXPECT_EQ(part(parts, "head").parameters, 0);
  EXPECT_EQ(part(parts, "head").scoring_flops, 2 * 50 * 8);
  // Positions see 1, 2 and 3 keys: two layers, 8 numbers each for the scores and for what they weigh.
  EXPECT_EQ(part(parts, "attention").scoring_flops, 2 * 2 * 2 * 8 * 2);
  EXPECT_EQ(total(parts).parameters, matrices + 5 * 8 + 50 * 8);
  EXPECT_EQ(total(parts).training_flops, 3 * total(parts).scoring_flops);
}

TEST(Cost, AHeadOfItsOwnHasParametersAndTheSameProducts) {
  FreshWeights weights(1), more(1);
  const auto tied = costs_of(small_llama(true), weights, 3), own = costs_of(small_llama(false), more, 3);
  EXPECT_EQ(part(own, "head").parameters, 50 * 8);
  EXPECT_EQ(part(own, "base").parameters, part(tied, "base").parameters);
  EXPECT_EQ(total(own).scoring_flops, total(tied).scoring_flops);
}

TEST(Cost, QuantizedWeightsCountAsTheNumbersTheyStandFor) {
  FreshWeights dense(1);
  QuantizedWeights quantized;
  const auto config = small_llama(false);
  const auto dense_costs = costs_of(config, dense, 7), quantized_costs = costs_of(config, quantized, 7);
  ASSERT_EQ(dense_costs.size(), quantized_costs.size());
  for (size_t index = 0; index < dense_costs.size(); ++index) {
    EXPECT_EQ(dense_costs[index].parameters, quantized_costs[index].parameters) << dense_costs[index].part;
    EXPECT_EQ(dense_costs[index].scoring_flops, quantized_costs[index].scoring_flops) << dense_costs[index].part;
  }
  EXPECT_EQ(config.make(quantized)->weight_bytes(), 2 * (2 * 50 * 8 + 960) + 4 * 5 * 8);
}

TEST(Cost, TailClustersOfTheAdaptiveSoftmaxAreMetByTheirShareOfTheTokens) {
  FreshWeights weights(1);
  const auto config = base_config("transformer-xl", 100,
                                  {{"layers", 1},
                                   {"hidden_size", 8},
                                   {"heads", 2},
                                   {"ffn_size", 16},
                                   {"memory_tokens", 4},
                                   {"cutoffs", {10}},
                                   {"divisor", 2}});
  const auto parts = costs_of(config, weights, 4);
  // By Zipf's law the first 10 of 100 tokens are half of a text. Head: 10 x 8 through 8 x 8, one entry for the tail;
  // tail: 90 x 4 through 8 x 4.
  EXPECT_DOUBLE_EQ(part(parts, "head").scoring_flops, 2 * (80 + 64 + 8 + 0.5 * (360 + 32)));
  // Embedding: a table and a projection for each cluster. Layer: qkv, distances, output and two maps.
  const double layer = 3 * 64 + 64 + 64 + 2 * 128;
  EXPECT_DOUBLE_EQ(part(parts, "base").scoring_flops, 2 * (layer + 0.5 * 64 + 0.5 * 32));
  EXPECT_EQ(part(parts, "embedding").parameters, 10 * 8 + 90 * 4);
}

TEST(Cost, MemoriesInBlocksAddABackwardPassFromTheLowestOneUp) {
  FreshWeights weights(1);
  const auto base = small_llama(true).make(weights);
  BlockConfig config;
  config.rank = 3;
  const auto parts_of = [&](const char* at) {
    config.at = at;
    return costs(LanguageModel(base, nullptr, nullptr, config.untrained(*base)), {3, false});
  };
  const auto all = parts_of("all"), last = parts_of("1");
  const double forward = part(all, "base").scoring_flops, own = 4 * 8 * 3;  // keys and values of one block
  EXPECT_EQ(part(all, "blocks").scoring_flops, 0);
  EXPECT_EQ(part(all, "blocks").adapting_flops, forward + 3 * 2 * own);
  EXPECT_EQ(part(last, "blocks").adapting_flops, forward / 2 + 3 * own);
  EXPECT_EQ(part(last, "blocks").parameters, 8 * 3 + 1);
}

}  // namespace
}  // namespace fwl
