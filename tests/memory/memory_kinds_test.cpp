// Every kind of memory under one interface: read whole, in pieces or token by token, saved and restored, padded.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "head/adaptive_softmax_head.h"
#include "head/softmax_head.h"
#include "memory/delta_memory.h"
#include "memory/layer.h"
#include "memory/memory_config.h"
#include "support/error.h"
#include "support/fields.h"
#include "support/scratch.h"

namespace fwl {
namespace {

constexpr int64_t hidden_size = 8, vocabulary = 11, tokens = 29;

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

struct Kind {
  std::string name;
  std::vector<std::pair<std::string, std::string>> settings;
};

const std::vector<Kind> kinds = {
    {"layer", {{"layer.size", "24"}}},
    {"layer",
     {{"layer.size", "24"}, {"layer.gradient_at", "boundary"}, {"layer.chunk_tokens", "7"}, {"layer.decay", "0.9"}}},
    {"layer", {{"layer.size", "24"}, {"layer.rule", "momentum"}, {"layer.segment_tokens", "5"}}},
    {"layer",
     {{"layer.size", "24"},
      {"layer.rule", "momentum"},
      {"layer.gradient_at", "boundary"},
      {"layer.chunk_tokens", "4"},
      {"layer.max_drift", "0.5"}}},
    {"layer", {{"layer.size", "24"}, {"layer.rule", "normalised"}}},
    {"layer",
     {{"layer.size", "24"},
      {"layer.rule", "normalised"},
      {"layer.gradient_at", "boundary"},
      {"layer.chunk_tokens", "6"}}},
    {"bias-only", {{"layer.size", "24"}}},
    {"bias-only", {{"layer.size", "24"}, {"layer.decay", "0.8"}, {"layer.segment_tokens", "5"}}},
    {"delta-rule", {{"delta.heads", "2"}, {"delta.chunk_tokens", "6"}}},
};

std::string title(const Kind& kind) {
  std::string text = kind.name;
  for (const auto& [key, value] : kind.settings) text += " " + key + "=" + value;
  return text;
}

struct Example {
  at::Tensor hidden, targets;
  std::shared_ptr<const Head> head;
  std::shared_ptr<const FastMemory> memory;

  explicit Example(const Kind& kind, bool is_adaptive = false) {
    at::manual_seed(4);
    hidden = at::randn({2, tokens, hidden_size}, at::kDouble);
    targets = at::randint(0, vocabulary, {2, tokens}, at::kLong);
    const auto random = [](std::vector<int64_t> shape) { return at::randn(shape, at::kDouble) * 0.4; };
    if (is_adaptive)
      head = std::make_shared<AdaptiveSoftmaxHead>(
          std::vector<SoftmaxCluster>{{random({5, hidden_size}), random({5}), {}},
                                      {random({6, 3}), random({6}), random({hidden_size, 3})}},
          random({1, hidden_size}), random({1}));
    else
      head = std::make_shared<SoftmaxHead>(random({vocabulary, hidden_size}), random({vocabulary}));
    MemoryChoice choice;
    Fields fields;
    add_fields(fields, choice);
    fields.set_text("test", "memory.kind", kind.name);
    for (const auto& [key, value] : kind.settings) fields.set_text("test", key, value);
    FreshWeights fresh(3, at::kDouble);
    memory = choice.make({hidden_size, *head, fresh});
  }

  MemoryLosses read(int64_t start, int64_t count, FastState& state, const MemoryCall& call = {}) const {
    return memory->read(hidden.narrow(1, start, count), targets.narrow(1, start, count), head, call, state);
  }
};

void expect_equal_states(const FastState& a, const FastState& b, double tolerance) {
  EXPECT_EQ(a.open_tokens, b.open_tokens);
  EXPECT_EQ(a.tokens_read, b.tokens_read);
  EXPECT_EQ(a.tensors.size(), b.tensors.size());
  for (const auto& [name, tensor] : a.tensors) EXPECT_LT(largest_difference(tensor, b.find(name)), tolerance) << name;
}

TEST(EveryMemory, ReadsATextInPiecesAsItReadsItWhole) {
  for (const auto& kind : kinds) {
    SCOPED_TRACE(title(kind));
    const Example example(kind);
    FastState whole, pieces;
    const auto expected = example.read(0, tokens, whole).fast;
    std::vector<at::Tensor> losses;
    for (const auto& [start, count] : {std::pair<int64_t, int64_t>{0, 1}, {1, 10}, {11, 2}, {13, 16}})
      losses.push_back(example.read(start, count, pieces).fast);
    EXPECT_LT(largest_difference(at::cat(losses, 1), expected), 1e-11);
    expect_equal_states(whole, pieces, 1e-11);
  }
}

TEST(EveryMemory, HasThreeEqualForms) {
  for (const auto& kind : kinds) {
    SCOPED_TRACE(title(kind));
    const Example example(kind);
    FastState chunked, quadratic, recurrent;
    MemoryCall call;
    const auto expected = example.read(0, tokens, chunked, call).fast;
    call.form = Form::quadratic;
    EXPECT_LT(largest_difference(example.read(0, tokens, quadratic, call).fast, expected), 1e-11);
    call.form = Form::recurrent;
    EXPECT_LT(largest_difference(example.read(0, tokens, recurrent, call).fast, expected), 1e-11);
    expect_equal_states(chunked, quadratic, 1e-11);
    expect_equal_states(chunked, recurrent, 1e-11);
  }
}

TEST(EveryMemory, GoesTokenByTokenWithACursorAsItReads) {
  const at::NoGradGuard no_grad;
  for (const auto& kind : kinds)
    for (const bool is_adaptive : {false, true}) {
      SCOPED_TRACE(title(kind) + (is_adaptive ? " adaptive softmax" : ""));
      const Example example(kind, is_adaptive);
      FastState state, whole;
      example.read(0, 9, state);
      example.read(0, 9, whole);
      const auto expected = example.read(9, tokens - 9, whole).fast[1];
      const auto cursor = example.memory->cursor(state.sequence(1), example.head);
      for (int64_t t = 9; t < tokens; ++t) {
        const auto hidden = example.hidden.narrow(0, 1, 1).select(1, t);
        const auto target = example.targets[1][t].item<int64_t>();
        const auto loss = -at::log_softmax(cursor->logits(hidden), 1)[0][target];
        EXPECT_NEAR(loss.item<double>(), expected[t - 9].item<double>(), 1e-10) << "token " << t;
        cursor->learn(hidden, target);
      }
      expect_equal_states(cursor->state(), whole.sequence(1), 1e-10);
    }
}

TEST(EveryMemory, IsNotTouchedByTokensOfWeightZero) {
  for (const auto& kind : kinds) {
    SCOPED_TRACE(title(kind));
    const Example example(kind);
    FastState padded, plain;
    MemoryCall call;
    call.token_weights = at::ones({2, tokens}, at::kDouble);
    call.token_weights.narrow(1, 10, 4).zero_();
    const auto losses = example.read(0, tokens, padded, call).fast;
    const auto first = example.read(0, 10, plain).fast, rest = example.read(14, tokens - 14, plain).fast;
    EXPECT_LT(largest_difference(losses, at::cat({first, at::zeros({2, 4}, at::kDouble), rest}, 1)), 1e-11);
    expect_equal_states(padded, plain, 1e-11);
  }
}

TEST(EveryMemory, GoesOnFromASavedState) {
  const auto folder = fresh_folder("memory_kinds");
  for (const auto& kind : kinds) {
    SCOPED_TRACE(title(kind));
    const Example example(kind);
    FastState state;
    example.read(0, 13, state);
    const auto path = folder + "/state.safetensors";
    save_state(state, path);
    auto restored = load_state(path, example.memory->state_layout(*example.head));
    EXPECT_TRUE(example.read(13, 8, state).fast.equal(example.read(13, 8, restored).fast));
    EXPECT_GT(state.bytes(), 0);
  }
}

TEST(EveryMemory, ReadsTextsAtDifferentPositionsInOneBatch) {
  for (const auto& kind : kinds) {
    SCOPED_TRACE(title(kind));
    const Example example(kind);
    FastState both;
    example.read(0, 17, both);
    auto behind = both.sequence(1);
    FastState ahead;  // of the first text, three tokens further
    example.read(0, 17, ahead);
    auto first = ahead.sequence(0);
    const auto one = [&](int64_t text, int64_t start, int64_t count, FastState& state) {
      return example.memory
          ->read(example.hidden.narrow(0, text, 1).narrow(1, start, count),
                 example.targets.narrow(0, text, 1).narrow(1, start, count), example.head, {}, state)
          .fast;
    };
    one(0, 17, 3, first);
    auto joined = FastState::join({first, behind});
    const auto hidden =
        at::cat({example.hidden.narrow(0, 0, 1).narrow(1, 20, 6), example.hidden.narrow(0, 1, 1).narrow(1, 17, 6)});
    const auto targets =
        at::cat({example.targets.narrow(0, 0, 1).narrow(1, 20, 6), example.targets.narrow(0, 1, 1).narrow(1, 17, 6)});
    const auto losses = example.memory->read(hidden, targets, example.head, {}, joined).fast;
    EXPECT_LT(largest_difference(losses, at::cat({one(0, 20, 6, first), one(1, 17, 6, behind)})), 1e-11);
    expect_equal_states(joined, FastState::join({first, behind}), 1e-11);
  }
}

// The derivative of the mean loss along one direction of a parameter, by autograd and by finite differences.
TEST(EveryMemory, HasTheGradientsOfFiniteDifferences) {
  for (const auto& kind : kinds) {
    SCOPED_TRACE(title(kind));
    const Example example(kind);
    const auto loss = [&] {
      FastState state;
      return example.read(0, tokens, state).fast.mean();
    };
    for (const auto& [name, parameter] : example.memory->parameters()) {
      parameter.requires_grad_();
      parameter.mutable_grad().reset();
    }
    loss().backward();
    for (const auto& [name, parameter] : example.memory->parameters()) {
      const at::NoGradGuard no_grad;
      if (!parameter.grad().defined()) continue;
      const auto direction = at::randn_like(parameter);
      const double step = 1e-6;
      parameter.add_(direction, step);
      const double above = loss().item<double>();
      parameter.sub_(direction, 2 * step);
      const double below = loss().item<double>();
      parameter.add_(direction, step);
      const double expected = (above - below) / (2 * step), found = (parameter.grad() * direction).sum().item<double>();
      EXPECT_NEAR(found, expected, 1e-7 + 1e-5 * std::abs(expected)) << name;
    }
  }
}

TEST(DeltaRule, IsTheSameInChunksOfEveryLength) {
  at::manual_seed(6);
  const auto unit = [](const at::Tensor& x) { return x / x.norm(2, -1, true); };
  const DeltaInput input{unit(at::randn({3, 20, 5}, at::kDouble)), unit(at::randn({3, 20, 5}, at::kDouble)),
                         at::randn({3, 20, 4}, at::kDouble), at::rand({3, 20}, at::kDouble),
                         at::randn({3, 5, 4}, at::kDouble)};
  const auto definition = delta_rule_recurrent(input);
  for (int64_t chunk = 1; chunk <= 21; ++chunk) {
    const auto chunked = delta_rule_chunked(input, chunk);
    EXPECT_LT(largest_difference(chunked.value, definition.value), 1e-12) << chunk;
    EXPECT_LT(largest_difference(chunked.matrix, definition.matrix), 1e-12) << chunk;
  }
}

TEST(DeltaRule, AFullRateReplacesWhatAKeyStoodFor) {
  const auto key = at::tensor({1.0, 0.0}).view({1, 1, 2}).to(at::kDouble);
  const auto value = at::tensor({3.0, 4.0}).view({1, 1, 2}).to(at::kDouble);
  const auto matrix = at::ones({1, 2, 2}, at::kDouble);
  const auto output = delta_rule_chunked({key, key, value, at::ones({1, 1}, at::kDouble), matrix}, 8);
  EXPECT_LT(largest_difference(output.value, value), 1e-12);
  EXPECT_LT(largest_difference(output.matrix[0][1], matrix[0][1]), 1e-12);
}

TEST(UpdateRule, MomentumAddsEarlierSegmentsAgain) {
  const auto rule = make_update_rule({"momentum", 0.5});
  at::Tensor closed, velocity;
  const auto decay = at::full({}, 0.9, at::kDouble);
  const std::vector<double> segments = {1, 2, 4};
  double expected_velocity = 0, expected_closed = 0;
  for (const auto segment : segments) {
    closed = rule->close(closed, at::full({1, 2}, segment, at::kDouble), decay, velocity);
    expected_velocity = 0.5 * expected_velocity + segment;
    expected_closed = 0.9 * expected_closed + expected_velocity;
  }
  EXPECT_NEAR(closed[0][0].item<double>(), expected_closed, 1e-12);
  EXPECT_NEAR(velocity[0][1].item<double>(), expected_velocity, 1e-12);
}

TEST(UpdateRule, NormalisedUpdatesHaveLengthOne) {
  const auto rule = make_update_rule({"normalised"});
  at::manual_seed(7);
  const auto key = at::randn({1, 4, 3}, at::kDouble), gradient = at::randn({1, 4, 5}, at::kDouble);
  const auto update = rule->token_update(key, gradient);
  const auto with_bias = at::cat({key, at::ones({1, 4, 1}, at::kDouble)}, 2);
  const auto outer = at::matmul(with_bias.unsqueeze(3), update.unsqueeze(2));  // 1,4,4,5: of a matrix and its bias
  EXPECT_LT(largest_difference(outer.flatten(2).norm(2, 2), at::ones({1, 4}, at::kDouble)), 1e-9);
}

TEST(UpdateRule, UnknownNamesAndRulesWithoutSegmentsAreErrors) {
  EXPECT_THROW(make_update_rule({"adam"}), UserError);
  EXPECT_THROW(make_update_rule({"momentum", 1.0}), UserError);
  EXPECT_THROW(Example({"layer", {{"layer.rule", "momentum"}}}), UserError);
}

}  // namespace
}  // namespace fwl
