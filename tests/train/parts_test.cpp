#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "parallel/rank_group.h"
#include "support/fields.h"
#include "support/scratch.h"
#include "train/optimizer.h"
#include "train/schedule.h"
#include "train/step_guard.h"

namespace fwl {
namespace {

TEST(TrainConfig, EveryConfigFileIsReadWhole) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(FWL_SOURCE_DIR) + "/config")) {
    if (entry.is_directory()) continue;  // plans of tables, adapters
    TrainConfig config;
    Fields fields;
    add_fields(fields, config);
    std::vector<std::string> text, valid_text;  // as fwl train has them
    fields.add("text", text, "");
    fields.add("valid_text", valid_text, "");
    fields.load_toml(entry.path().string(), read_text(entry.path().string()));
    fields.check(entry.path().string());
    EXPECT_NE(config.data.train.empty(), text.empty()) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 6);
}

TEST(Schedule, WarmsUpAndFalls) {
  OptimizerConfig config;
  config.lr = 1;
  config.warmup_steps = 10;
  EXPECT_DOUBLE_EQ(learning_rate(config, 1, 110), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(config, 10, 110), 1);
  EXPECT_NEAR(learning_rate(config, 60, 110), 0.55, 1e-12);
  EXPECT_NEAR(learning_rate(config, 110, 110), 0.1, 1e-12);
  config.schedule = "inverse-sqrt";
  EXPECT_DOUBLE_EQ(learning_rate(config, 40, 110), 0.5);
  config.schedule = "constant";
  EXPECT_DOUBLE_EQ(learning_rate(config, 100, 110), 1);
}

// Adam as its paper writes it, in double.
struct PlainAdam {
  at::Tensor first, second;
  int64_t updates = 0;

  at::Tensor step(const at::Tensor& x, const at::Tensor& gradient, double rate, double decay) {
    ++updates;
    const auto t = static_cast<double>(updates);
    first = 0.9 * first + 0.1 * gradient;
    second = 0.99 * second + 0.01 * gradient.square();
    const auto m = first / (1 - std::pow(0.9, t)), v = second / (1 - std::pow(0.99, t));
    return x * (1 - rate * decay) - rate * m / (v.sqrt() + 1e-8);
  }
};

TEST(Optimizer, EqualsAdamWithDecayOfMatricesClippingAndFasterStepSizes) {
  at::manual_seed(1);
  OptimizerConfig config;
  config.name = "adamw";
  config.weight_decay = 0.1;
  config.clip_norm = 1;
  const auto matrix = at::randn({3, 4}), vector = at::randn({5}), steps = at::randn({6}), unused = at::randn({2});
  std::vector<at::Tensor> expected;
  std::vector<PlainAdam> plain;
  for (const auto& tensor : {matrix, vector, steps}) {
    expected.push_back(tensor.to(at::kDouble).clone());
    plain.push_back({at::zeros_like(expected.back()), at::zeros_like(expected.back())});
  }
  const auto before = unused.clone();
  Optimizer optimizer({{"a.weight", matrix}, {"a.bias", vector}, {"fast.log_steps", steps}, {"unused", unused}},
                      {"fast.log_steps"}, config, this_group());
  for (int round = 0; round < 5; ++round) {
    optimizer.clear_gradients();
    (matrix.square().sum() * 3 + vector.exp().sum() + (steps * steps * steps).sum()).backward();
    const double norm = optimizer.gradient_norm(), share = std::min(1.0, 1 / norm);
    const std::vector<at::Tensor> gradients = {matrix.grad().to(at::kDouble) * share,
                                               vector.grad().to(at::kDouble) * share,
                                               steps.grad().to(at::kDouble) * share};
    expected[0] = plain[0].step(expected[0], gradients[0], 0.01, 0.1);
    expected[1] = plain[1].step(expected[1], gradients[1], 0.01, 0);
    expected[2] = plain[2].step(expected[2], gradients[2], 0.1, 0);
    optimizer.step(0.01, norm);
  }
  EXPECT_LT((matrix - expected[0]).abs().max().item<double>(), 1e-5);
  EXPECT_LT((vector - expected[1]).abs().max().item<double>(), 1e-5);
  EXPECT_LT((steps - expected[2]).abs().max().item<double>(), 1e-5);
  EXPECT_TRUE(unused.equal(before));
}

TEST(StepGuard, SkipsWhatIsNotFiniteOrFarOutAndRemembersItself) {
  RunConfig config;
  config.outlier_factor = 10;
  config.max_skipped = 2;
  StepGuard guard(config);
  for (int step = 0; step < 60; ++step) EXPECT_EQ(guard.objection(1, 2), "");
  EXPECT_EQ(guard.objection(1, 19), "");
  EXPECT_NE(guard.objection(1, 30).find("usually"), std::string::npos);
  StepGuard restored(config);
  restored.restore(guard.to_json());
  EXPECT_FALSE(restored.has_had_enough());
  EXPECT_NE(restored.objection(std::numeric_limits<double>::quiet_NaN(), 1), "");
  EXPECT_TRUE(restored.has_had_enough());
  EXPECT_EQ(restored.objection(1, 2), "");
  EXPECT_FALSE(restored.has_had_enough());
  EXPECT_EQ(restored.skipped(), 2);
}

}  // namespace
}  // namespace fwl
