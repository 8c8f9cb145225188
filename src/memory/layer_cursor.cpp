#include "memory/layer_cursor.h"

#include "engine/torch.h"
#include "memory/activation.h"
#include "support/error.h"

namespace fwl {
namespace {

// More would make the waiting gradients dearer than what they save.
constexpr int64_t most_waiting = 64;

WeightSet without_batch(const WeightSet& weights) {
  return map_weights([](const at::Tensor& weight) { return weight.defined() ? weight.squeeze(0) : weight; }, weights);
}

at::Tensor vector_times(const at::Tensor& vector, const at::Tensor& matrix, const at::Tensor& bias) {
  return at::addmm(bias, vector, matrix);
}

}  // namespace

void LayerCursor::Waiting::push(const at::Tensor& key, const at::Tensor& gradient) {
  if (!keys.defined()) {
    keys = at::empty({most_waiting, key.size(1)}, key.options());
    gradients = at::empty({most_waiting, gradient.size(1)}, gradient.options());
  }
  keys[count].copy_(key[0]);
  gradients[count].copy_(gradient[0]);
  ++count;
}

at::Tensor LayerCursor::Waiting::corrected(const at::Tensor& value, const at::Tensor& query, double step) const {
  if (count == 0) return value;
  const auto scores = at::mm(query, keys.narrow(0, 0, count).t());  // 1,n
  return at::addmm(value, scores, gradients.narrow(0, 0, count), 1, -step);
}

void LayerCursor::Waiting::add_to(at::Tensor& sum) {
  if (count > 0) sum[0].addmm_(keys.narrow(0, 0, count).t(), gradients.narrow(0, 0, count));
  count = 0;
}

LayerCursor::LayerCursor(const FastWeightLayer& layer, const FastState& state, int64_t chunk_tokens)
    : layer_(layer),
      steps_(layer.steps()),
      state_(state.is_defined() ? state.clone() : FastState::zeros(layer.parameters().slow, 1)) {
  if (state_.sequences() != 1) fail("fast weights", "of one text", std::to_string(state_.sequences()));
  if (!state.is_defined())
    state_.segment_tokens =
        layer.options().gradient_at == GradientPoint::boundary ? chunk_tokens : layer.options().segment_tokens;
  for (size_t weight = 0; weight < step_sizes_.size(); ++weight)
    step_sizes_[weight] = steps_.all()[weight]->item<double>();
  set_weights();
}

void LayerCursor::set_weights() {
  const auto& slow = layer_.parameters().slow;
  const bool is_slow = layer_.options().gradient_at == GradientPoint::slow;
  point_ = is_slow || !state_.closed.is_defined() ? slow : without_batch(stepped(slow, steps_, state_.closed));
  moved_ = without_batch(is_slow ? stepped(slow, steps_, state_.total()) : stepped(point_, steps_, state_.open));
}

at::Tensor LayerCursor::adapt(const at::Tensor& hidden) {
  const auto& options = layer_.options();
  slow_ = slow_pass(hidden, point_, options);
  const auto z1 = waiting_U_.corrected(vector_times(hidden, moved_.U, moved_.a), hidden, step_sizes_[0]);
  const auto v = squared_relu(z1);
  const auto z2 = waiting_W_.corrected(vector_times(v, moved_.W, moved_.b), v, step_sizes_[2]);
  auto f = z2;
  if (options.has_layer_norm) f = normalise(z2, options.epsilon).normal * moved_.gain + moved_.shift;
  return options.is_residual ? hidden + f : f;
}

void LayerCursor::move_vectors(const InnerGradients& gradients) {
  const auto move = [&](at::Tensor& sum, at::Tensor& moved, const at::Tensor& gradient, size_t weight) {
    if (!gradient.defined()) return;
    sum.add_(gradient);
    moved.sub_(gradient[0], step_sizes_[weight]);
  };
  move(state_.open.a, moved_.a, gradients.dz1, 1);
  move(state_.open.b, moved_.b, gradients.dz2, 3);
  move(state_.open.gain, moved_.gain, gradients.dg, 4);
  move(state_.open.shift, moved_.shift, gradients.ds, 5);
}

void LayerCursor::learn(const Head& head, int64_t target) {
  const auto& options = layer_.options();
  auto dy =
      head.loss_and_gradient(slow_.y, at::full({1}, target, at::dtype(at::kLong).device(slow_.y.device()))).gradient;
  if (options.grad_scale != 1) dy = dy * options.grad_scale;
  const auto gradients = inner_gradients(slow_, dy, point_, options);
  move_vectors(gradients);
  waiting_U_.push(gradients.h, gradients.dz1);
  waiting_W_.push(gradients.v, gradients.dz2);
  ++state_.tokens_read[0];
  ++state_.open_tokens[0];
  const bool ends_segment = state_.is_segment_full();
  if (!ends_segment && waiting_U_.count < most_waiting) return;
  flush();
  if (ends_segment) close_segment(state_, {layer_.decays(), options.max_drift}, layer_.parameters().slow, steps_);
  set_weights();
}

void LayerCursor::flush() {
  waiting_U_.add_to(state_.open.U);
  waiting_W_.add_to(state_.open.W);
}

FastState LayerCursor::state() {
  flush();
  set_weights();
  return state_.clone();
}

}  // namespace fwl
