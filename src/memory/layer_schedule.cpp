#include "memory/layer_schedule.h"

#include <algorithm>

#include "engine/reading_window.h"
#include "engine/torch.h"

namespace fwl {
namespace {

bool all_equal(const std::vector<int64_t>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

at::Tensor join(const std::vector<at::Tensor>& parts, int64_t dimension) {
  return parts.empty() ? at::Tensor() : at::cat(parts, dimension);
}

// 1,n or 1,n,D, with zeros for the tokens of weight 0 at the end.
at::Tensor padded(const at::Tensor& values, int64_t padding) {
  return values.dim() == 2 ? at::constant_pad_nd(values, {0, padding})
                           : at::constant_pad_nd(values, {0, 0, 0, padding});
}

}  // namespace

LayerSchedule::LayerSchedule(const FastWeightLayer& layer, const std::shared_ptr<const Head>& head,
                             const MemoryCall& call, LayerResult result)
    : run_(std::make_shared<LayerRun>(layer, head, call)),
      call_(call),
      grad_scale_(layer.options().grad_scale),
      result_(result),
      width_(head->width()) {}

MemoryLosses LayerSchedule::read(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& weights,
                                 const std::vector<int64_t>& lengths, FastState& state) const {
  const bool is_in_step = state.segment_tokens == 0 || (all_equal(lengths) && all_equal(state.open_tokens));
  const auto losses = is_in_step ? read_in_step(hidden, targets, weights, state)
                                 : read_one_by_one(hidden, targets, weights, lengths, state);
  for (size_t index = 0; index < lengths.size(); ++index) state.tokens_read[index] += lengths[index];
  return losses;
}

MemoryLosses LayerSchedule::read_one_by_one(const at::Tensor& hidden, const at::Tensor& targets,
                                            const at::Tensor& weights, const std::vector<int64_t>& lengths,
                                            FastState& state) const {
  std::vector<at::Tensor> slow, fast;
  std::vector<FastState> states;
  for (int64_t index = 0; index < hidden.size(0); ++index) {
    auto one = state.sequence(index);
    const int64_t length = lengths[static_cast<size_t>(index)], padding = hidden.size(1) - length;
    const auto own = [&](const at::Tensor& tensor) {
      return tensor.defined() ? tensor.narrow(0, index, 1).narrow(1, 0, length) : tensor;
    };
    auto nothing = at::zeros({1, 0}, hidden.options());
    if (result_ == LayerResult::outputs) nothing = nothing.unsqueeze(2).expand({1, 0, width_});
    const auto losses =
        length > 0 ? read_in_step(own(hidden), own(targets), own(weights), one) : MemoryLosses{nothing, nothing};
    if (losses.slow.defined()) slow.push_back(padded(losses.slow, padding));
    fast.push_back(padded(losses.fast, padding));
    states.push_back(one);
  }
  state = FastState::join(states);
  return {join(fast, 0), slow.size() == fast.size() ? join(slow, 0) : at::Tensor()};
}

MemoryLosses LayerSchedule::read_in_step(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& weights,
                                         FastState& state) const {
  const int64_t tokens = hidden.size(1);
  int64_t window = tokens;
  if (call_.form == Form::recurrent)
    window = 1;
  else if (!at::GradMode::is_enabled() && call_.form == Form::chunked)
    window = std::max<int64_t>(1, reading_window_tokens / hidden.size(0));
  std::vector<at::Tensor> slow, fast;
  for (int64_t start = 0; start < tokens; start += window) {
    const int64_t count = std::min(window, tokens - start);
    const auto some = [&](const at::Tensor& tensor) {
      return tensor.defined() ? tensor.narrow(1, start, count) : tensor;
    };
    const auto losses = read_window(some(hidden), some(targets), some(weights), state);
    if (losses.slow.defined()) slow.push_back(losses.slow);
    fast.push_back(losses.fast);
  }
  return {join(fast, 1), join(slow, 1)};
}

MemoryLosses LayerSchedule::read_window(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& weights,
                                        FastState& state) const {
  at::Tensor factor;
  if (weights.defined())
    factor = (weights * grad_scale_).unsqueeze(2);
  else if (grad_scale_ != 1)
    factor = at::full({1, 1, 1}, grad_scale_, hidden.options()).expand({hidden.size(0), hidden.size(1), 1});
  const auto adapted = run_->adapt(hidden, targets, factor, state);
  if (result_ == LayerResult::outputs) return {adapted.y, {}};
  return {run_->loss(adapted.y, targets, weights), adapted.slow_loss};
}

}  // namespace fwl
