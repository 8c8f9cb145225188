#include "memory/layer_run.h"

#include <algorithm>
#include <cmath>

#include "engine/checkpointed.h"
#include "engine/torch.h"

namespace fwl {
namespace {

at::Tensor narrow_tokens(const at::Tensor& tensor, int64_t start, int64_t count) {
  return tensor.defined() ? tensor.narrow(1, start, count) : tensor;
}

at::Tensor join_tokens(const std::vector<at::Tensor>& parts) {
  return parts.size() == 1 ? parts[0] : at::cat(parts, 1);
}

}  // namespace

LayerRun::LayerRun(const FastWeightLayer& layer, std::shared_ptr<const Head> head, const MemoryCall& call)
    : slow_(layer.weights().slow),
      steps_(layer.steps()),
      options_(layer.options()),
      segment_end_{layer.decays(), layer.options().max_drift, layer.rule()},
      head_(std::move(head)),
      call_(call) {}

std::vector<LayerRun::Stretch> LayerRun::cut_at_segments(int64_t tokens, const FastState& state) const {
  if (state.segment_tokens == 0) return {{0, tokens, false}};
  std::vector<Stretch> stretches;
  for (int64_t start = 0; start < tokens;) {
    const int64_t room = state.segment_tokens - (start == 0 ? state.open_tokens[0] : 0);
    const int64_t count = std::min(room, tokens - start);
    start += count;
    const bool stays_open = call_.leaves_last_segment_open && start == tokens;
    stretches.push_back({start - count, count, count == room && !stays_open});
  }
  return stretches;
}

LayerRun::Adapted LayerRun::adapt(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& factor,
                                  FastState& state) const {
  auto sums = LayerSums::of(state);
  if (state.is_segment_full()) {
    close_segment(sums, segment_end_, slow_, steps_);
    std::fill(state.open_tokens.begin(), state.open_tokens.end(), 0);
  }
  const auto stretches = cut_at_segments(hidden.size(1), state);
  const auto adapted = options_.gradient_at == GradientAt::slow
                           ? adapt_from_slow(hidden, targets, factor, stretches, sums)
                           : adapt_from_boundary(hidden, targets, factor, stretches, sums);
  sums.store(state);
  for (const auto& stretch : stretches)
    for (auto& tokens : state.open_tokens) tokens = stretch.ends_segment ? 0 : tokens + stretch.count;
  return adapted;
}

at::Tensor LayerRun::loss(const at::Tensor& y, const at::Tensor& targets, const at::Tensor& expected_upstream) const {
  const auto upstream = expected_upstream.defined() ? expected_upstream.flatten() : expected_upstream;
  return head_->loss(y.flatten(0, 1), targets.flatten(), upstream).view(targets.sizes());
}

LayerRun::Gradients LayerRun::gradients_at(const WeightSet& weights, const at::Tensor& hidden,
                                           const at::Tensor& targets, const at::Tensor& factor,
                                           at::Tensor* loss) const {
  const auto forward = layer_forward(hidden, weights, options_);
  const auto result = head_->loss_and_gradient(forward.y.flatten(0, 1), targets.flatten());
  if (loss) *loss = result.loss.view(targets.sizes());
  auto inner = inner_gradients(forward, result.gradient.view(forward.y.sizes()), weights, options_);
  apply_rule(inner, *segment_end_.rule, factor);
  return {forward, inner};
}

WeightSet LayerRun::segment_weights(const LayerSums& sums) const {
  return sums.closed.is_defined() ? updated_weights(slow_, steps_, sums.closed) : slow_;
}

void LayerRun::advance(LayerSums& sums, const Stretch& stretch, const WeightSet& open) const {
  sums.open = open;
  if (stretch.ends_segment) close_segment(sums, segment_end_, slow_, steps_);
}

LayerRun::Adapted LayerRun::adapt_from_slow(const at::Tensor& hidden, const at::Tensor& targets,
                                            const at::Tensor& factor, const std::vector<Stretch>& stretches,
                                            LayerSums& sums) const {
  Adapted result;
  const auto [forward, inner] = gradients_at(slow_, hidden, targets, factor, &result.slow_loss);
  std::vector<at::Tensor> parts;
  for (const auto& stretch : stretches) {
    const auto [start, count, ends] = stretch;
    const auto z1 = sums.closed.is_defined() ? at::Tensor() : narrow_tokens(forward.z1, start, count);
    const auto fast = fast_pass(narrow_tokens(hidden, start, count), z1, narrow(inner, start, count),
                                segment_weights(sums), sums.open, steps_, options_, call_.form, call_.chunk_tokens);
    parts.push_back(fast.y);
    advance(sums, stretch, fast.sums);
  }
  result.y = join_tokens(parts);
  return result;
}

at::Tensor LayerRun::adapt_chunk(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& factor,
                                 const Stretch& stretch, LayerSums& sums) const {
  const auto [start, count, ends] = stretch;
  const auto weights = segment_weights(sums);
  const auto [forward, inner] =
      gradients_at(weights, narrow_tokens(hidden, start, count), narrow_tokens(targets, start, count),
                   narrow_tokens(factor, start, count), nullptr);
  const auto fast = fast_pass(forward.h, forward.z1, inner, weights, sums.open, steps_, options_, call_.form, count);
  advance(sums, stretch, fast.sums);
  return fast.y;
}

// The graph of one chunk holds about four matrices of the state's size.
bool LayerRun::keeps_every_state(size_t stretches, const LayerSums& sums) const {
  if (!at::GradMode::is_enabled()) return true;
  const auto matrix_numbers = sums.open.U.numel() + sums.open.W.numel();
  const auto bytes_per_chunk = 4 * matrix_numbers * static_cast<int64_t>(sums.open.U.element_size());
  return bytes_per_chunk * static_cast<int64_t>(stretches) <= options_.kept_state_bytes;
}

LayerRun::Adapted LayerRun::adapt_from_boundary(const at::Tensor& hidden, const at::Tensor& targets,
                                                const at::Tensor& factor, const std::vector<Stretch>& stretches,
                                                LayerSums& sums) const {
  std::vector<at::Tensor> parts;
  if (keeps_every_state(stretches.size(), sums)) {
    for (const auto& stretch : stretches) parts.push_back(adapt_chunk(hidden, targets, factor, stretch, sums));
  } else {
    // Groups of about sqrt(n) chunks: only the states between groups are kept, and one group's while it is recomputed.
    const auto group = static_cast<size_t>(std::ceil(std::sqrt(static_cast<double>(stretches.size()))));
    for (size_t first = 0; first < stretches.size(); first += group) {
      const auto last = std::min(stretches.size(), first + group);
      const std::vector<Stretch> members(stretches.begin() + static_cast<int64_t>(first),
                                         stretches.begin() + static_cast<int64_t>(last));
      parts.push_back(adapt_chunks_recomputed(hidden, targets, factor, members, sums));
    }
  }
  Adapted result;
  result.y = join_tokens(parts);
  if (call_.wants_slow_loss) result.slow_loss = loss(layer_forward(hidden, slow_, options_).y, targets, {});
  return result;
}

at::Tensor LayerRun::adapt_chunks_recomputed(const at::Tensor& hidden, const at::Tensor& targets,
                                             const at::Tensor& factor, const std::vector<Stretch>& stretches,
                                             LayerSums& sums) const {
  std::vector<at::Tensor> inputs = {hidden, factor}, captured = head_->parameters();
  const auto sum_tensors = sums.tensors();
  inputs.insert(inputs.end(), sum_tensors.begin(), sum_tensors.end());
  for (const auto* set : {&slow_, &steps_, &segment_end_.decay})
    for (const auto* tensor : set->all())
      if (tensor->defined()) captured.push_back(*tensor);
  const auto run_chunks = [self = shared_from_this(), targets, stretches](const std::vector<at::Tensor>& given) {
    LayerSums moving;
    moving.set_tensors(given, 2);
    std::vector<at::Tensor> parts;
    for (const auto& stretch : stretches)
      parts.push_back(self->adapt_chunk(given[0], targets, given[1], stretch, moving));
    std::vector<at::Tensor> outputs = {join_tokens(parts)};
    const auto after = moving.tensors();
    outputs.insert(outputs.end(), after.begin(), after.end());
    return outputs;
  };
  const auto outputs = checkpointed(run_chunks, inputs, captured);
  sums.set_tensors(outputs, 1);
  return outputs[0];
}

}  // namespace fwl
