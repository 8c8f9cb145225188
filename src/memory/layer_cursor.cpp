#include "memory/layer_cursor.h"

#include <tuple>

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {

// As many as a chunk usually has, so that until its end the weights are those where gradients are taken.
constexpr int64_t most_waiting = 128;

WeightSet without_batch(const WeightSet& weights) {
  return map_weights([](const at::Tensor& weight) { return weight.defined() ? weight.squeeze(0) : weight; }, weights);
}

LayerForward row(const LayerForward& all, int64_t index) {
  const auto one = [&](const at::Tensor& rows) { return rows.defined() ? rows.narrow(0, index, 1) : rows; };
  return {one(all.h), one(all.z1), one(all.v), one(all.normal), one(all.inverse), one(all.y)};
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

void LayerCursor::Waiting::correct_(at::Tensor value, const at::Tensor& query, double step) const {
  if (count == 0) return;
  const auto scores = at::mm(query, keys.narrow(0, 0, count).t());  // 1,n
  value.addmm_(scores, gradients.narrow(0, 0, count), 1, -step);
}

void LayerCursor::Waiting::add_to(at::Tensor& sum) {
  if (count > 0) sum[0].addmm_(keys.narrow(0, 0, count).t(), gradients.narrow(0, 0, count));
  count = 0;
}

LayerCursor::LayerCursor(std::shared_ptr<const FastWeightLayer> layer, const FastState& state,
                         std::shared_ptr<const Head> head)
    : layer_(std::move(layer)), head_(std::move(head)), steps_(layer_->steps()) {
  clock_ = state.is_defined() ? state.clone() : layer_->state_layout().zeros(1);
  if (clock_.sequences() != 1) fail("fast weights", "of one text", std::to_string(clock_.sequences()));
  if (!state.is_defined()) clock_.segment_tokens = layer_->segment_tokens(layer_->options().chunk_tokens);
  sums_ = LayerSums::of(clock_);
  for (size_t weight = 0; weight < step_sizes_.size(); ++weight)
    step_sizes_[weight] = steps_.all()[weight]->item<double>();
  close_full_segment();
  set_weights();
}

void LayerCursor::set_weights() {
  const auto& slow = layer_->weights().slow;
  const auto closed = sums_.closed.is_defined() ? without_batch(updated_weights(slow, steps_, sums_.closed)) : slow;
  gradient_weights_ = layer_->options().gradient_at == GradientAt::slow ? slow : closed;
  current_ = without_batch(updated_weights(closed, steps_, sums_.open));
  prepared_ = {};
  const bool is_at_boundary = layer_->options().gradient_at == GradientAt::boundary && clock_.open_tokens[0] == 0;
  if (!is_at_boundary) return;
  current_.U = gradient_weights_.U;
  current_.W = gradient_weights_.W;
}

// One pass over two rows: the hidden state under the weights as they are, and where its gradient is taken.
LayerForward LayerCursor::forward(const at::Tensor& hidden) const {
  const auto& [current, learning] = std::tie(current_, gradient_weights_);
  const auto rows_of = [](const at::Tensor& x, const at::Tensor& first, const at::Tensor& second) {
    return first.is_same(second) ? at::mm(x, first)
                                 : at::cat({at::mm(x.narrow(0, 0, 1), first), at::mm(x.narrow(0, 1, 1), second)});
  };
  const auto linear = [&](const at::Tensor& x, const at::Tensor WeightSet::*matrix, const at::Tensor WeightSet::*bias,
                          const Waiting& waiting, double step) {
    auto value = rows_of(x, current.*matrix, learning.*matrix);
    value.add_(at::stack({current.*bias, learning.*bias}));
    waiting.correct_(value.narrow(0, 0, 1), x.narrow(0, 0, 1), step);
    return value;
  };
  const LayerMaps maps = {
      [&](const at::Tensor& x) { return linear(x, &WeightSet::U, &WeightSet::a, waiting_U_, step_sizes_[0]); },
      [&](const at::Tensor& v) { return linear(v, &WeightSet::W, &WeightSet::b, waiting_W_, step_sizes_[2]); },
      [&](const at::Tensor& n) {
        return n * at::stack({current.gain, learning.gain}) + at::stack({current.shift, learning.shift});
      }};
  return layer_forward(hidden.expand({2, -1}), maps, layer_->options());
}

at::Tensor LayerCursor::logits(const at::Tensor& hidden) {
  const auto both = forward(hidden);
  const auto pass = head_->token_pass(both.y.narrow(0, 0, 1), both.y.narrow(0, 1, 1));
  prepared_ = {hidden, both, pass.mean_row};
  return pass.logits;
}

void LayerCursor::update_vectors(const InnerGradients& gradients) {
  const auto update = [&](at::Tensor& sum, at::Tensor& current, const at::Tensor& gradient, size_t weight) {
    if (!gradient.defined()) return;
    sum.add_(gradient);
    current.sub_(gradient[0], step_sizes_[weight]);
  };
  update(sums_.open.a, current_.a, gradients.dz1, 1);
  update(sums_.open.b, current_.b, gradients.dz2, 3);
  update(sums_.open.gain, current_.gain, gradients.dg, 4);
  update(sums_.open.shift, current_.shift, gradients.ds, 5);
}

void LayerCursor::learn(const at::Tensor& hidden, int64_t target) {
  const auto& options = layer_->options();
  if (!prepared_.hidden.defined() || !at::equal(prepared_.hidden, hidden)) logits(hidden);
  const auto at_learning = row(prepared_.forward, 1);
  const auto targets = at::full({1}, target, hidden.options().dtype(at::kLong));
  const auto dy = prepared_.mean_row.defined() ? prepared_.mean_row - head_->output_row(target)
                                               : head_->loss_and_gradient(at_learning.y, targets).gradient;
  auto gradients = inner_gradients(at_learning, dy, gradient_weights_, options);
  const auto factor = options.grad_scale == 1 ? at::Tensor() : at::full({1, 1}, options.grad_scale, dy.options());
  apply_rule(gradients, *layer_->rule(), factor);
  update_vectors(gradients);
  waiting_U_.push(gradients.h, gradients.dz1);
  waiting_W_.push(gradients.v, gradients.dz2);
  prepared_ = {};
  ++clock_.tokens_read[0];
  ++clock_.open_tokens[0];
  if (!clock_.is_segment_full() && waiting_U_.count < most_waiting) return;
  flush();
  close_full_segment();
  set_weights();
}

void LayerCursor::close_full_segment() {
  if (!clock_.is_segment_full()) return;
  const SegmentEnd end{layer_->decays(), layer_->options().max_drift, layer_->rule()};
  close_segment(sums_, end, layer_->weights().slow, steps_);
  clock_.open_tokens[0] = 0;
}

void LayerCursor::flush() {
  waiting_U_.add_to(sums_.open.U);
  waiting_W_.add_to(sums_.open.W);
}

FastState LayerCursor::state() {
  flush();
  set_weights();
  sums_.store(clock_);
  return clock_.clone();
}

}  // namespace fwl
