#include "memory/bias_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/torch.h"
#include "memory/bias_only.h"
#include "memory/counted_tokens.h"
#include "memory/layer_config.h"
#include "support/error.h"
#include "support/fields.h"

namespace fwl {
namespace {

std::string bias_name(size_t cluster) {
  return fmt::format("bias.{}", cluster);
}

}  // namespace

BiasMemory::BiasMemory(std::shared_ptr<const FastMemory> beneath, at::Tensor log_step)
    : beneath_(std::move(beneath)), log_step_(std::move(log_step)) {}

BiasDecay BiasMemory::decay() const {
  return beneath_ ? beneath_->bias_decay() : BiasDecay{};
}

NamedTensors BiasMemory::parameters() const {
  auto all = beneath_ ? beneath_->parameters() : NamedTensors{};
  all.emplace_back("bias_only.log_step", log_step_);
  return all;
}

// The gradient of the logits is at hand once the loss is: no further sweep.
MemoryCost BiasMemory::cost() const {
  const double slow = beneath_ ? beneath_->cost().slow_flops : 0;
  return {slow, slow, false};
}

StateLayout BiasMemory::state_layout(const Head& head) const {
  StateLayout layout;
  layout.options = log_step_.options();
  for (const auto size : head.bias_sizes()) layout.tensors.push_back({bias_name(layout.tensors.size()), {size}});
  return layout;
}

std::vector<at::Tensor> BiasMemory::decayed_sums(const FastState& state, int64_t sequence) const {
  std::vector<at::Tensor> sums;
  const auto row = static_cast<size_t>(sequence);
  const bool is_full = state.segment_tokens > 0 && state.open_tokens[row] == state.segment_tokens;
  for (size_t cluster = 0; cluster < state.tensors.size(); ++cluster) {
    const auto sum = state.find(bias_name(cluster))[sequence];
    sums.push_back(is_full ? sum * decay().factor : sum);
  }
  return sums;
}

MemoryLosses BiasMemory::read_text(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& weights,
                                   const Head& head, FastState& state) const {
  std::vector<at::Tensor> fast, slow;
  const int64_t tokens = hidden.size(1), segment = state.segment_tokens;
  auto& open = state.open_tokens.front();
  for (int64_t start = 0, count = 0; start < tokens; start += count) {
    std::vector<at::Tensor> before;
    for (const auto& sum : decayed_sums(state, 0)) before.push_back(sum.unsqueeze(0));
    if (segment > 0 && open == segment) open = 0;
    count = segment == 0 ? tokens : std::min(tokens - start, segment - open);
    const auto some_weights = weights.defined() ? weights.narrow(1, start, count) : weights;
    auto output = bias_only(hidden.narrow(1, start, count), targets.narrow(1, start, count), head, log_step_,
                            some_weights, before);
    for (size_t cluster = 0; cluster < output.state.size(); ++cluster)
      state.tensors[bias_name(cluster)] = output.state[cluster];
    open += count;
    fast.push_back(output.fast_loss);
    slow.push_back(output.slow_loss);
  }
  state.tokens_read.front() += tokens;
  return {at::cat(fast, 1), at::cat(slow, 1)};
}

MemoryLosses BiasMemory::read(const at::Tensor& hidden, const at::Tensor& targets,
                              const std::shared_ptr<const Head>& head, const MemoryCall& call, FastState& state) const {
  auto moving = state.is_defined() ? state : state_layout(*head).zeros(hidden.size(0));
  if (moving.sequences() != hidden.size(0))
    fail("bias-only fast weights", fmt::format("a state of {} sequences", hidden.size(0)),
         std::to_string(moving.sequences()));
  moving.segment_tokens = decay().segment_tokens;
  const auto weights = call.token_weights.defined() ? call.token_weights : at::ones(targets.sizes(), hidden.options());
  const auto counted = counted_tokens(adapt(hidden, {}), targets, weights);
  std::vector<at::Tensor> fast, slow;
  std::vector<FastState> states;
  for (int64_t index = 0; index < hidden.size(0); ++index) {
    auto one = moving.sequence(index);
    const int64_t length = counted.lengths[static_cast<size_t>(index)], padding = counted.longest() - length;
    const auto own = [&](const at::Tensor& tensor) { return tensor.narrow(0, index, 1).narrow(1, 0, length); };
    MemoryLosses losses{at::zeros({1, 0}, hidden.options()), at::zeros({1, 0}, hidden.options())};
    if (length > 0) losses = read_text(own(counted.hidden), own(counted.targets), own(counted.weights), *head, one);
    fast.push_back(at::constant_pad_nd(losses.fast, {0, padding}));
    slow.push_back(at::constant_pad_nd(losses.slow, {0, padding}));
    states.push_back(std::move(one));
  }
  state = FastState::join(states);
  return {counted.in_place(at::cat(fast), targets.size(1)), counted.in_place(at::cat(slow), targets.size(1))};
}

at::Tensor BiasMemory::adapt(const at::Tensor& hidden, const FastState&) const {
  return beneath_ ? beneath_->adapt(hidden, {}) : hidden;
}

std::shared_ptr<const Head> BiasMemory::head_for(const std::shared_ptr<const Head>& head, const FastState& state,
                                                 int64_t sequence) const {
  std::vector<at::Tensor> change;
  for (const auto& sum : decayed_sums(state, sequence)) change.push_back(-sum * log_step_.exp());
  return head->with_bias_change(change);
}

std::shared_ptr<const FastMemory> BiasMemory::with_step_size(double step) const {
  return std::make_shared<BiasMemory>(beneath_, at::full_like(log_step_, std::log(step)));
}

std::vector<std::pair<std::string, double>> BiasMemory::step_sizes() const {
  const at::NoGradGuard no_grad;
  auto sizes = beneath_ ? beneath_->step_sizes() : std::vector<std::pair<std::string, double>>{};
  sizes.emplace_back("step bias", log_step_.exp().item<double>());
  return sizes;
}

std::vector<std::string> BiasMemory::step_parameter_names() const {
  auto names = beneath_ ? beneath_->step_parameter_names() : std::vector<std::string>{};
  names.emplace_back("bias_only.log_step");
  return names;
}

std::vector<std::string> BiasMemory::slow_output_names() const {
  return beneath_ ? beneath_->slow_output_names() : std::vector<std::string>{};
}

namespace {

// With the settings of a layer that stays slow beneath the biases.
struct BiasConfig : MemoryConfig {
  bool has_layer = true;
  double step = 1e-3;
  LayerConfig layer;

  std::unique_ptr<MemoryConfig> clone() const override { return std::make_unique<BiasConfig>(*this); }
  void add_fields(Fields& fields) override {
    fields.add("bias.layer", has_layer, "a layer beneath the biases, whose weights stay slow");
    fields.add("bias.step", step, "the step size that learning starts from").range(1e-9, 1e3);
    layer.add_fields(fields);
  }
  void suit_pretrained() override {
    has_layer = false;
    layer.suit_pretrained();
  }
  std::shared_ptr<const FastMemory> make(const MemoryInput& input) const override {
    auto beneath = has_layer ? layer.make(input) : nullptr;
    auto log_step = input.source.tensor("bias_only.log_step", {}, Initial::constant(std::log(step)));
    return std::make_shared<BiasMemory>(std::move(beneath), std::move(log_step));
  }
  bool starts_as_identity() const override { return !has_layer || layer.is_residual; }
};

}  // namespace

std::unique_ptr<MemoryConfig> bias_memory_config() {
  return std::make_unique<BiasConfig>();
}

}  // namespace fwl
