#include "memory/layer_sums.h"

#include <cmath>

#include "engine/torch.h"

namespace fwl {
namespace {

WeightSet find_weights(const FastState& state, const std::string& prefix) {
  WeightSet set;
  for (size_t index = 0; index < weight_names.size(); ++index)
    *set.all()[index] = state.find(prefix + weight_names[index]);
  return set;
}

void store_weights(FastState& state, const std::string& prefix, const WeightSet& set) {
  for (size_t index = 0; index < weight_names.size(); ++index)
    if (set.all()[index]->defined()) state.tensors[prefix + weight_names[index]] = *set.all()[index];
}

// The norm a weight would have if freshly drawn: entries of variance 1 / rows for a matrix, of 1 for a vector.
double fresh_norm(const at::Tensor& weight) {
  return std::sqrt(static_cast<double>(weight.size(weight.dim() - 1)));
}

at::Tensor norm_per_sequence(const at::Tensor& sums) {
  return sums.flatten(1).norm(2, 1);
}

at::Tensor guard_factor(const at::Tensor& sums, const at::Tensor& weight, const at::Tensor& step, double max_drift) {
  const at::NoGradGuard no_grad;
  const double limit = max_drift * std::max(weight.norm().item<double>(), fresh_norm(weight));
  const auto update_norm = norm_per_sequence(sums) * step;
  const auto factor = at::clamp_max(limit / update_norm, 1.0);
  return at::where(update_norm.isfinite(), at::where(update_norm > 0, factor, 1.0), 0.0);
}

at::Tensor scale_sequences(const at::Tensor& sums, const at::Tensor& factor) {
  auto shape = std::vector<int64_t>(static_cast<size_t>(sums.dim()), 1);
  shape[0] = -1;
  const auto scaled = sums * factor.view(shape);
  return at::where(factor.view(shape) > 0, scaled, at::zeros_like(scaled));
}

}  // namespace

LayerSums LayerSums::of(const FastState& state) {
  return {find_weights(state, "closed."), find_weights(state, "open."), find_weights(state, "velocity.")};
}

void LayerSums::store(FastState& state) const {
  store_weights(state, "closed.", closed);
  store_weights(state, "open.", open);
  store_weights(state, "velocity.", velocity);
}

WeightSet LayerSums::total() const {
  if (!closed.is_defined()) return open;
  return map_weights([](const at::Tensor& before, const at::Tensor& now) { return before + now; }, closed, open);
}

std::vector<at::Tensor> LayerSums::tensors() const {
  std::vector<at::Tensor> all;
  for (const auto* set : {&closed, &open, &velocity})
    for (const auto* tensor : set->all()) all.push_back(*tensor);
  return all;
}

void LayerSums::set_tensors(const std::vector<at::Tensor>& tensors, size_t first) {
  for (auto* set : {&closed, &open, &velocity})
    for (auto* tensor : set->all()) *tensor = tensors[first++];
}

StateLayout layer_state_layout(const WeightSet& slow_weights, bool has_velocity) {
  StateLayout layout;
  layout.options = slow_weights.U.options();
  const auto add = [&](const std::string& prefix, bool is_optional) {
    for (size_t index = 0; index < weight_names.size(); ++index)
      layout.tensors.push_back({prefix + weight_names[index], slow_weights.all()[index]->sizes().vec(), is_optional});
  };
  add("open.", false);
  add("closed.", true);
  if (has_velocity) add("velocity.", true);
  return layout;
}

std::vector<DriftFigure> drift_figures(const LayerSums& sums, const WeightSet& slow_weights, const WeightSet& steps) {
  const at::NoGradGuard no_grad;
  std::vector<DriftFigure> figures;
  const auto total = sums.total();
  for (size_t index = 0; index < weight_names.size(); ++index) {
    DriftFigure figure;
    figure.weight = weight_names[index];
    figure.update_norm = (norm_per_sequence(*total.all()[index]).mean() * *steps.all()[index]).item<double>();
    figure.weight_norm = slow_weights.all()[index]->norm().item<double>();
    figure.drift = figure.weight_norm > 0 ? figure.update_norm / figure.weight_norm : figure.update_norm;
    figures.push_back(figure);
  }
  return figures;
}

void close_segment(LayerSums& sums, const SegmentEnd& end, const WeightSet& slow_weights, const WeightSet& steps) {
  for (size_t index = 0; index < weight_names.size(); ++index) {
    auto& closed = *sums.closed.all()[index];
    closed = end.rule->close(closed, *sums.open.all()[index], *end.decay.all()[index], *sums.velocity.all()[index]);
    if (end.max_drift > 0)
      closed =
          scale_sequences(closed, guard_factor(closed, *slow_weights.all()[index], *steps.all()[index], end.max_drift));
  }
  sums.open = map_weights([](const at::Tensor& open) { return at::zeros_like(open); }, sums.open);
}

}  // namespace fwl
