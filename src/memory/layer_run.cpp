#include "memory/layer_run.h"

#include <algorithm>
#include <cmath>

#include "engine/checkpointed.h"
#include "engine/torch.h"

namespace fwl {
namespace {

at::Tensor some_tokens(const at::Tensor& tensor, int64_t start, int64_t count) {
  return tensor.defined() ? tensor.narrow(1, start, count) : tensor;
}

at::Tensor join_tokens(const std::vector<at::Tensor>& parts) {
  return parts.size() == 1 ? parts[0] : at::cat(parts, 1);
}

// The state's twelve tensors in a fixed order, undefined ones included.
void append_sums(const FastState& state, std::vector<at::Tensor>& tensors) {
  for (const auto* set : {&state.closed, &state.open})
    for (const auto* tensor : set->all()) tensors.push_back(*tensor);
}

void take_sums(FastState& state, const std::vector<at::Tensor>& tensors, size_t first) {
  for (auto* set : {&state.closed, &state.open})
    for (auto* tensor : set->all()) *tensor = tensors[first++];
}

}  // namespace

LayerRun::LayerRun(const FastWeightLayer& layer, std::shared_ptr<const Head> head, const LayerCall& call)
    : slow_(layer.parameters().slow),
      steps_(layer.steps()),
      options_(layer.options()),
      segment_end_{layer.decays(), layer.options().max_drift},
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
  if (state.is_segment_full()) close_segment(state, segment_end_, slow_, steps_);
  return options_.gradient_at == GradientPoint::slow ? adapt_from_slow(hidden, targets, factor, state)
                                                     : adapt_from_boundary(hidden, targets, factor, state);
}

at::Tensor LayerRun::loss(const at::Tensor& y, const at::Tensor& targets, const at::Tensor& expected_upstream) const {
  const auto upstream = expected_upstream.defined() ? expected_upstream.flatten() : expected_upstream;
  return head_->loss(y.flatten(0, 1), targets.flatten(), upstream).view(targets.sizes());
}

InnerGradients LayerRun::gradients_at(const SlowPass& slow, const at::Tensor& targets, const at::Tensor& factor,
                                      const WeightSet& point, at::Tensor* loss) const {
  const auto result = head_->loss_and_gradient(slow.y.flatten(0, 1), targets.flatten());
  if (loss) *loss = result.loss.view(targets.sizes());
  auto dy = result.gradient.view(slow.y.sizes());
  if (factor.defined()) dy = dy * factor;
  return inner_gradients(slow, dy, point, options_);
}

void LayerRun::advance(FastState& state, const Stretch& stretch, const WeightSet& open_sums) const {
  state.open = open_sums;
  for (auto& tokens : state.open_tokens) tokens += stretch.count;
  if (stretch.ends_segment) close_segment(state, segment_end_, slow_, steps_);
}

LayerRun::Adapted LayerRun::adapt_from_slow(const at::Tensor& hidden, const at::Tensor& targets,
                                            const at::Tensor& factor, FastState& state) const {
  const auto slow = slow_pass(hidden, slow_, options_);
  Adapted result;
  const auto gradients = gradients_at(slow, targets, factor, slow_, &result.slow_loss);
  const auto without_closed = [](const at::Tensor& all, const at::Tensor& closed) { return all - closed; };
  std::vector<at::Tensor> parts;
  for (const auto& stretch : cut_at_segments(hidden.size(1), state)) {
    const auto [start, count, ends] = stretch;
    const auto fast = fast_pass(narrow(slow, start, count), narrow(gradients, start, count), slow_, state.total(),
                                steps_, options_, call_.form, call_.chunk_tokens);
    parts.push_back(fast.y);
    const bool has_closed = state.closed.is_defined();
    advance(state, stretch, has_closed ? map_weights(without_closed, fast.sums, state.closed) : fast.sums);
  }
  result.y = join_tokens(parts);
  return result;
}

at::Tensor LayerRun::adapt_chunk(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& factor,
                                 const Stretch& stretch, FastState& state) const {
  const auto [start, count, ends] = stretch;
  const auto point = state.closed.is_defined() ? stepped(slow_, steps_, state.closed) : slow_;
  const auto slow = slow_pass(some_tokens(hidden, start, count), point, options_);
  const auto gradients =
      gradients_at(slow, some_tokens(targets, start, count), some_tokens(factor, start, count), point, nullptr);
  const auto fast = fast_pass(slow, gradients, point, state.open, steps_, options_, call_.form, count);
  advance(state, stretch, fast.sums);
  return fast.y;
}

// The graph of one chunk holds about four matrices of the state's size.
bool LayerRun::keeps_every_state(size_t stretches, const FastState& state) const {
  if (!at::GradMode::is_enabled()) return true;
  const auto matrix_numbers = state.open.U.numel() + state.open.W.numel();
  const auto bytes_per_chunk = 4 * matrix_numbers * static_cast<int64_t>(state.open.U.element_size());
  return bytes_per_chunk * static_cast<int64_t>(stretches) <= options_.kept_state_bytes;
}

LayerRun::Adapted LayerRun::adapt_from_boundary(const at::Tensor& hidden, const at::Tensor& targets,
                                                const at::Tensor& factor, FastState& state) const {
  const auto stretches = cut_at_segments(hidden.size(1), state);
  std::vector<at::Tensor> parts;
  if (keeps_every_state(stretches.size(), state)) {
    for (const auto& stretch : stretches) parts.push_back(adapt_chunk(hidden, targets, factor, stretch, state));
  } else {
    // Groups of about sqrt(n) chunks: only the states between groups are kept, and one group's while it is recomputed.
    const auto group = static_cast<size_t>(std::ceil(std::sqrt(static_cast<double>(stretches.size()))));
    for (size_t first = 0; first < stretches.size(); first += group) {
      const auto last = std::min(stretches.size(), first + group);
      const std::vector<Stretch> members(stretches.begin() + static_cast<int64_t>(first),
                                         stretches.begin() + static_cast<int64_t>(last));
      parts.push_back(adapt_chunks_recomputed(hidden, targets, factor, members, state));
    }
  }
  Adapted result;
  result.y = join_tokens(parts);
  if (call_.wants_slow_loss) result.slow_loss = loss(slow_pass(hidden, slow_, options_).y, targets, {});
  return result;
}

at::Tensor LayerRun::adapt_chunks_recomputed(const at::Tensor& hidden, const at::Tensor& targets,
                                             const at::Tensor& factor, const std::vector<Stretch>& stretches,
                                             FastState& state) const {
  std::vector<at::Tensor> inputs = {hidden, factor}, captured = head_->parameters();
  append_sums(state, inputs);
  for (const auto* set : {&slow_, &steps_, &segment_end_.decay})
    for (const auto* tensor : set->all())
      if (tensor->defined()) captured.push_back(*tensor);
  const auto before = state;
  const auto run_chunks = [self = shared_from_this(), targets, stretches,
                           before](const std::vector<at::Tensor>& given) {
    auto moving = before;
    take_sums(moving, given, 2);
    std::vector<at::Tensor> parts;
    for (const auto& stretch : stretches)
      parts.push_back(self->adapt_chunk(given[0], targets, given[1], stretch, moving));
    std::vector<at::Tensor> outputs = {join_tokens(parts)};
    append_sums(moving, outputs);
    return outputs;
  };
  const auto outputs = checkpointed(run_chunks, inputs, captured);
  take_sums(state, outputs, 1);
  for (const auto& stretch : stretches)
    for (auto& tokens : state.open_tokens) tokens = stretch.ends_segment ? 0 : tokens + stretch.count;
  return outputs[0];
}

}  // namespace fwl
