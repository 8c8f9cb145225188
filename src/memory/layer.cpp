#include "memory/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/torch.h"
#include "memory/layer_run.h"
#include "support/error.h"

namespace fwl {
namespace {

constexpr const char* where = "FastWeightLayer";

// Scoring without gradients goes through the tokens in windows of this many, so that memory stays flat.
constexpr int64_t scoring_window_tokens = 2048;

at::Tensor number_at(const at::Tensor& numbers, int64_t index) {
  return numbers.select(0, index);
}

WeightSet spread(const at::Tensor& numbers) {
  WeightSet set;
  int64_t index = 0;
  for (auto* tensor : set.all()) *tensor = number_at(numbers, index++);
  return set;
}

void check_shape(const char* name, const at::Tensor& tensor, at::IntArrayRef expected) {
  if (!tensor.defined() || tensor.sizes() != expected)
    fail(fmt::format("{}: {}", where, name), c10::str("shape ", expected),
         tensor.defined() ? c10::str(tensor.sizes()) : "nothing");
}

void check_parameters(const LayerParameters& parameters, const LayerOptions& options) {
  const auto& slow = parameters.slow;
  if (!slow.U.defined() || slow.U.dim() != 2) fail(where, "a matrix U (D,H)", "something else");
  if (!slow.W.defined() || slow.W.dim() != 2) fail(where, "a matrix W (H,D)", "something else");
  const int64_t width = slow.U.size(0), layer_width = slow.U.size(1), output = slow.W.size(1);
  check_shape("a", slow.a, {layer_width});
  check_shape("W", slow.W, {layer_width, output});
  check_shape("b", slow.b, {output});
  check_shape("gain", slow.gain, {output});
  check_shape("shift", slow.shift, {output});
  check_shape("log_steps", parameters.log_steps, {6});
  if (parameters.decay_logits.defined()) check_shape("decay_logits", parameters.decay_logits, {6});
  if (options.is_residual && width != output)
    fail(where, fmt::format("an output width of {} for the residual form", width), fmt::format("{}", output));
  const bool needs_segments = parameters.decay_logits.defined() || options.max_drift > 0;
  if (needs_segments && options.gradient_at == GradientPoint::slow && options.segment_tokens <= 0)
    fail(where, "segment_tokens > 0 with decay or max_drift", fmt::format("{}", options.segment_tokens),
         "decay and guard act at the ends of segments");
}

void check_input(const at::Tensor& hidden, const at::Tensor& targets, const Head& head, const LayerCall& call,
                 const LayerParameters& parameters) {
  const int64_t width = parameters.slow.U.size(0), output = parameters.slow.W.size(1);
  if (hidden.dim() != 3 || hidden.size(2) != width)
    fail(where, fmt::format("hidden states (B,T,{})", width), c10::str(hidden.sizes()));
  if (hidden.size(0) == 0 || hidden.size(1) == 0)
    fail(where, "at least one sequence of at least one token", c10::str(hidden.sizes()), "an empty text?");
  if (hidden.scalar_type() != parameters.slow.U.scalar_type())
    fail(where, c10::str("hidden states of type ", parameters.slow.U.scalar_type()), c10::str(hidden.scalar_type()));
  if (targets.dim() != 2 || targets.size(0) != hidden.size(0) || targets.size(1) != hidden.size(1))
    fail(where, fmt::format("targets ({},{})", hidden.size(0), hidden.size(1)), c10::str(targets.sizes()));
  if (targets.scalar_type() != at::kLong) fail(where, "targets of type int64", c10::str(targets.scalar_type()));
  if (head.width() != output) fail(where, fmt::format("a head of width {}", output), fmt::format("{}", head.width()));
  if (call.chunk_tokens <= 0) fail(where, "chunk > 0", fmt::format("{}", call.chunk_tokens));
}

void check_finite(const at::Tensor& hidden) {
  if (!hidden.isfinite().all().item<bool>())
    fail(where, "finite hidden states", "NaN or infinity", "the base model has diverged, or its weights are damaged");
}

void check_token_weights(const at::Tensor& weights, const at::Tensor& targets) {
  if (!weights.defined()) return;
  if (weights.sizes() != targets.sizes())
    fail(where, c10::str("token weights ", targets.sizes()), c10::str(weights.sizes()));
  if (!(weights.isfinite().all().item<bool>() && (weights >= 0).all().item<bool>()))
    fail(where, "finite token weights >= 0", "something else");
}

// The tokens that count, moved to the front of each sequence in their order.
struct Packed {
  at::Tensor hidden, targets, weights;  // B,P,D and B,P and B,P; what lies past a sequence's end has weight 0
  at::Tensor order;                     // B,P: where each packed token came from
  std::vector<int64_t> lengths;         // B
};

Packed pack(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& weights) {
  const auto counts = weights > 0;
  const auto lengths = counts.sum(1).cpu();
  Packed packed;
  packed.lengths.assign(lengths.const_data_ptr<int64_t>(), lengths.const_data_ptr<int64_t>() + lengths.size(0));
  const int64_t longest = *std::max_element(packed.lengths.begin(), packed.lengths.end());
  packed.order = at::argsort(counts.logical_not().to(at::kInt), true, 1, false).narrow(1, 0, longest);
  packed.weights = weights.gather(1, packed.order);
  packed.targets = targets.gather(1, packed.order).masked_fill(packed.weights == 0, 0);
  const auto rows = packed.order.unsqueeze(2).expand({-1, -1, hidden.size(2)});
  packed.hidden = hidden.gather(1, rows).masked_fill((packed.weights == 0).unsqueeze(2), 0);
  return packed;
}

at::Tensor unpack(const at::Tensor& losses, const Packed& packed, at::IntArrayRef shape) {
  if (!losses.defined()) return losses;
  const auto scored = losses.masked_fill(packed.weights == 0, 0);
  return at::zeros(shape, losses.options()).scatter(1, packed.order, scored);
}

bool all_equal(const std::vector<int64_t>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

struct LayerLosses {
  at::Tensor slow, fast;
};

}  // namespace

// How one call is carried out: which sequences go together, and in which windows.
class LayerSchedule {
 public:
  LayerSchedule(const FastWeightLayer& layer, const std::shared_ptr<const Head>& head, const LayerCall& call)
      : run_(std::make_shared<LayerRun>(layer, head, call)), call_(call), grad_scale_(layer.options().grad_scale) {}

  // Sequences at different places in their segments, or of different lengths where segments matter, go one by one.
  LayerLosses read(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& weights,
                   const std::vector<int64_t>& lengths, FastState& state) const {
    const bool is_even = state.segment_tokens == 0 || (all_equal(lengths) && all_equal(state.open_tokens));
    LayerLosses losses;
    if (is_even) {
      losses = read_even(hidden, targets, weights, state);
    } else {
      std::vector<at::Tensor> slow, fast;
      std::vector<FastState> states;
      for (int64_t index = 0; index < hidden.size(0); ++index) {
        auto one = state.sequence(index);
        const int64_t length = lengths[static_cast<size_t>(index)], padding = hidden.size(1) - length;
        const auto take = [&](const at::Tensor& tensor) {
          return tensor.defined() ? tensor.narrow(0, index, 1).narrow(1, 0, length) : tensor;
        };
        if (length > 0)
          losses = read_even(take(hidden), take(targets), take(weights), one);
        else
          losses = {at::zeros({1, 0}, hidden.options()), at::zeros({1, 0}, hidden.options())};
        if (losses.slow.defined()) slow.push_back(at::constant_pad_nd(losses.slow, {0, padding}));
        fast.push_back(at::constant_pad_nd(losses.fast, {0, padding}));
        states.push_back(one);
      }
      state = FastState::join(states);
      losses = {slow.size() == fast.size() ? at::cat(slow) : at::Tensor(), at::cat(fast)};
    }
    for (size_t index = 0; index < lengths.size(); ++index) state.tokens_read[index] += lengths[index];
    return losses;
  }

 private:
  LayerLosses read_even(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& weights,
                        FastState& state) const {
    const int64_t tokens = hidden.size(1);
    int64_t window = tokens;
    if (call_.form == Form::recurrent)
      window = 1;
    else if (!at::GradMode::is_enabled() && call_.form == Form::chunked)
      window = std::max<int64_t>(1, scoring_window_tokens / hidden.size(0));
    std::vector<at::Tensor> slow, fast;
    for (int64_t start = 0; start < tokens; start += window) {
      const int64_t count = std::min(window, tokens - start);
      const auto take = [&](const at::Tensor& tensor) {
        return tensor.defined() ? tensor.narrow(1, start, count) : tensor;
      };
      const auto losses = read_window(take(hidden), take(targets), take(weights), state);
      if (losses.slow.defined()) slow.push_back(losses.slow);
      fast.push_back(losses.fast);
    }
    return {slow.empty() ? at::Tensor() : at::cat(slow, 1), at::cat(fast, 1)};
  }

  LayerLosses read_window(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& weights,
                          FastState& state) const {
    at::Tensor factor;
    if (weights.defined())
      factor = (weights * grad_scale_).unsqueeze(2);
    else if (grad_scale_ != 1)
      factor = at::full({1, 1, 1}, grad_scale_, hidden.options()).expand({hidden.size(0), hidden.size(1), 1});
    const auto adapted = run_->adapt(hidden, targets, factor, state);
    const auto fast = run_->loss(adapted.y, targets, weights);
    return {adapted.slow_loss, fast};
  }

  std::shared_ptr<LayerRun> run_;
  LayerCall call_;
  double grad_scale_;
};

FastWeightLayer::FastWeightLayer(LayerParameters parameters, LayerOptions options)
    : parameters_(std::move(parameters)), options_(options) {
  check_parameters(parameters_, options_);
}

WeightSet FastWeightLayer::steps() const {
  return spread(parameters_.log_steps.exp());
}

WeightSet FastWeightLayer::decays() const {
  return parameters_.decay_logits.defined() ? spread(parameters_.decay_logits.sigmoid()) : WeightSet{};
}

LayerOutput FastWeightLayer::forward(const at::Tensor& hidden, const at::Tensor& targets,
                                     const std::shared_ptr<const Head>& head, const LayerCall& call,
                                     const FastState& state) const {
  check_input(hidden, targets, *head, call, parameters_);
  check_token_weights(call.token_weights, targets);
  LayerOutput output;
  output.state = state.is_defined() ? state : FastState::zeros(parameters_.slow, hidden.size(0));
  auto& moving = output.state;
  if (moving.sequences() != hidden.size(0))
    fail(where, fmt::format("a state of {} sequences", hidden.size(0)), fmt::format("{}", moving.sequences()));
  const bool is_boundary = options_.gradient_at == GradientPoint::boundary;
  const int64_t segment_tokens = is_boundary ? call.chunk_tokens : options_.segment_tokens;
  const bool is_mid_segment = *std::max_element(moving.open_tokens.begin(), moving.open_tokens.end()) > 0;
  if (moving.segment_tokens != segment_tokens && is_mid_segment)
    fail(where, fmt::format("chunks of {} tokens as in the state's open segment", moving.segment_tokens),
         fmt::format("{}", segment_tokens), "a chunk's length can change only where a chunk ends");
  moving.segment_tokens = segment_tokens;

  const LayerSchedule schedule(*this, head, call);
  const bool has_gaps = call.token_weights.defined() && (call.token_weights == 0).any().item<bool>();
  if (!has_gaps) {
    check_finite(hidden);
    const std::vector<int64_t> lengths(static_cast<size_t>(hidden.size(0)), hidden.size(1));
    const auto losses = schedule.read(hidden, targets, call.token_weights, lengths, moving);
    output.slow_loss = losses.slow;
    output.fast_loss = losses.fast;
    return output;
  }
  const auto packed = pack(hidden, targets, call.token_weights);
  if (packed.order.size(1) == 0) {
    output.slow_loss = output.fast_loss = at::zeros(targets.sizes(), hidden.options());
    return output;
  }
  check_finite(packed.hidden);
  const auto losses = schedule.read(packed.hidden, packed.targets, packed.weights, packed.lengths, moving);
  output.slow_loss = unpack(losses.slow, packed, targets.sizes());
  output.fast_loss = unpack(losses.fast, packed, targets.sizes());
  return output;
}

at::Tensor FastWeightLayer::slow_output(const at::Tensor& hidden) const {
  return slow_pass(hidden, parameters_.slow, options_).y;
}

at::Tensor FastWeightLayer::adapt(const at::Tensor& hidden, const FastState& state) const {
  if (!state.is_defined()) return slow_output(hidden);
  auto present = state;
  if (present.is_segment_full()) close_segment(present, {decays(), options_.max_drift}, parameters_.slow, steps());
  return slow_pass(hidden, stepped(parameters_.slow, steps(), present.total()), options_).y;
}

}  // namespace fwl
