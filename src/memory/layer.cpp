#include "memory/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/torch.h"
#include "memory/counted_tokens.h"
#include "memory/layer_check.h"
#include "memory/layer_cursor.h"
#include "memory/layer_schedule.h"
#include "memory/layer_sums.h"
#include "memory/passes.h"
#include "support/error.h"

namespace fwl {
namespace {

// One number per weight out of a vector of six.
WeightSet one_per_weight(const at::Tensor& numbers) {
  WeightSet set;
  int64_t index = 0;
  for (auto* tensor : set.all()) *tensor = numbers.select(0, index++);
  return set;
}

double count(const at::Tensor& tensor) {
  return static_cast<double>(tensor.numel());
}

}  // namespace

FastWeightLayer::FastWeightLayer(LayerParameters parameters, LayerOptions options)
    : parameters_(std::move(parameters)), options_(std::move(options)), rule_(make_update_rule(options_.rule)) {
  check_layer(parameters_, options_, *rule_);
}

NamedTensors FastWeightLayer::parameters() const {
  NamedTensors all;
  for (size_t index = 0; index < weight_names.size(); ++index)
    all.emplace_back(std::string("fast.") + weight_names[index], *parameters_.slow.all()[index]);
  all.emplace_back("fast.log_steps", parameters_.log_steps);
  if (parameters_.decay_logits.defined()) all.emplace_back("fast.decay_logits", parameters_.decay_logits);
  return all;
}

// What the layer adds to its input while its fast weights are off; zero at the start where it is residual.
std::vector<std::string> FastWeightLayer::slow_output_names() const {
  return {"fast.W", "fast.b", "fast.gain", "fast.shift"};
}

// Slow pass, dv = dz2 W^T, v' W, and for either matrix a read and an update of its sums; within the chunk the scores
// and what they weigh.
MemoryCost FastWeightLayer::cost() const {
  const auto& slow = parameters_.slow;
  const double matrices = count(slow.U) + count(slow.W);  // 2DH
  const auto ends = static_cast<double>(slow.U.size(0) + 2 * slow.U.size(1) + slow.W.size(1));
  const auto chunk = static_cast<double>(options_.chunk_tokens);
  return {2 * matrices, 2 * matrices + 2 * count(slow.W) * 2 + 4 * matrices + 2 * chunk * ends, true};
}

StateLayout FastWeightLayer::state_layout() const {
  return layer_state_layout(parameters_.slow, rule_->has_velocity());
}

WeightSet FastWeightLayer::steps() const {
  return one_per_weight(parameters_.log_steps.exp());
}

WeightSet FastWeightLayer::decays() const {
  return parameters_.decay_logits.defined() ? one_per_weight(parameters_.decay_logits.sigmoid()) : WeightSet{};
}

int64_t FastWeightLayer::segment_tokens(int64_t chunk_tokens) const {
  return options_.gradient_at == GradientAt::boundary ? chunk_tokens : options_.segment_tokens;
}

BiasDecay FastWeightLayer::bias_decay() const {
  if (!parameters_.decay_logits.defined()) return {};
  return {segment_tokens(options_.chunk_tokens), decays().b};
}

MemoryLosses FastWeightLayer::read(const at::Tensor& hidden, const at::Tensor& targets,
                                   const std::shared_ptr<const Head>& head, const MemoryCall& call,
                                   FastState& state) const {
  return run(hidden, targets, head, call, LayerResult::losses, state);
}

at::Tensor FastWeightLayer::outputs(const at::Tensor& hidden, const at::Tensor& targets,
                                    const std::shared_ptr<const Head>& head, const MemoryCall& call,
                                    FastState& state) const {
  return run(hidden, targets, head, call, LayerResult::outputs, state).fast;
}

MemoryLosses FastWeightLayer::run(const at::Tensor& hidden, const at::Tensor& targets,
                                  const std::shared_ptr<const Head>& head, MemoryCall call, LayerResult result,
                                  FastState& state) const {
  if (call.chunk_tokens == 0) call.chunk_tokens = options_.chunk_tokens;
  check_layer_input(hidden, targets, *head, call, parameters_);
  auto moving = state.is_defined() ? state : state_layout().zeros(hidden.size(0));
  if (moving.sequences() != hidden.size(0))
    fail("FastWeightLayer", fmt::format("a state of {} sequences", hidden.size(0)),
         fmt::format("{}", moving.sequences()));
  const int64_t segment = segment_tokens(call.chunk_tokens);
  const bool is_mid_segment = *std::max_element(moving.open_tokens.begin(), moving.open_tokens.end()) > 0;
  if (moving.segment_tokens != segment && is_mid_segment)
    fail("FastWeightLayer", fmt::format("chunks of {} tokens as in the state's open segment", moving.segment_tokens),
         fmt::format("{}", segment), "a chunk's length can change only where a chunk ends");
  moving.segment_tokens = segment;

  const LayerSchedule schedule(*this, head, call, result);
  MemoryLosses losses;
  if (!has_uncounted(call.token_weights)) {
    check_finite_hidden(hidden);
    const std::vector<int64_t> lengths(static_cast<size_t>(hidden.size(0)), hidden.size(1));
    losses = schedule.read(hidden, targets, call.token_weights, lengths, moving);
  } else {
    const auto counted = counted_tokens(hidden, targets, call.token_weights);
    check_finite_hidden(counted.hidden);
    if (counted.longest() > 0)
      losses = schedule.read(counted.hidden, counted.targets, counted.weights, counted.lengths, moving);
    else if (result == LayerResult::losses)
      losses.fast = losses.slow = at::zeros({hidden.size(0), 0}, hidden.options());
    else
      losses.fast = at::zeros({hidden.size(0), 0, head->width()}, hidden.options());
    losses.fast = counted.in_place(losses.fast, targets.size(1));
    losses.slow = counted.in_place(losses.slow, targets.size(1));
  }
  state = std::move(moving);
  return losses;
}

at::Tensor FastWeightLayer::adapt(const at::Tensor& hidden, const FastState& state) const {
  return adapter(state)(hidden);
}

FastMemory::Adapter FastWeightLayer::adapter(const FastState& state) const {
  auto weights = parameters_.slow;
  if (state.is_defined()) {
    auto sums = LayerSums::of(state);
    if (state.is_segment_full()) close_segment(sums, {decays(), options_.max_drift, rule_}, parameters_.slow, steps());
    weights = updated_weights(parameters_.slow, steps(), sums.total());
  }
  return [weights, options = options_](const at::Tensor& hidden) { return layer_forward(hidden, weights, options).y; };
}

std::unique_ptr<MemoryCursor> FastWeightLayer::cursor(const FastState& state, std::shared_ptr<const Head> head) const {
  auto self = std::static_pointer_cast<const FastWeightLayer>(shared_from_this());
  return std::make_unique<LayerCursor>(std::move(self), state, std::move(head));
}

std::shared_ptr<const FastMemory> FastWeightLayer::with_step_size(double step) const {
  auto parameters = parameters_;
  parameters.log_steps = at::full_like(parameters_.log_steps, std::log(step));
  return std::make_shared<FastWeightLayer>(std::move(parameters), options_);
}

std::vector<std::pair<std::string, double>> FastWeightLayer::step_sizes() const {
  const at::NoGradGuard no_grad;
  std::vector<std::pair<std::string, double>> sizes;
  const auto step_set = steps(), decay_set = decays();
  for (size_t index = 0; index < weight_names.size(); ++index)
    sizes.emplace_back(fmt::format("step {}", weight_names[index]), step_set.all()[index]->item<double>());
  for (size_t index = 0; decay_set.is_defined() && index < weight_names.size(); ++index)
    sizes.emplace_back(fmt::format("decay {}", weight_names[index]), decay_set.all()[index]->item<double>());
  return sizes;
}

std::vector<DriftFigure> FastWeightLayer::drift(const FastState& state) const {
  return drift_figures(LayerSums::of(state), parameters_.slow, steps());
}

}  // namespace fwl
