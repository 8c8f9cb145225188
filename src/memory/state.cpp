#include "memory/state.h"

#include <cmath>

#include "engine/torch.h"

namespace fwl {
namespace {

template <class Function>
WeightSet map_defined(const Function& function, const WeightSet& set) {
  return set.is_defined() ? map_weights(function, set) : WeightSet{};
}

// The norm a weight would have if freshly drawn: entries of variance 1 / rows for a matrix, of 1 for a vector.
double fresh_norm(const at::Tensor& weight) {
  return std::sqrt(static_cast<double>(weight.size(weight.dim() - 1)));
}

at::Tensor norm_per_sequence(const at::Tensor& sums) {
  return sums.flatten(1).norm(2, 1);
}

at::Tensor guard(const at::Tensor& sums, const at::Tensor& weight, const at::Tensor& step, double max_drift) {
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

FastState FastState::zeros(const WeightSet& slow_weights, int64_t sequences) {
  FastState state;
  state.open = map_weights(
      [&](const at::Tensor& weight) {
        auto shape = weight.sizes().vec();
        shape.insert(shape.begin(), sequences);
        return at::zeros(shape, weight.options().requires_grad(false));
      },
      slow_weights);
  state.open_tokens.assign(static_cast<size_t>(sequences), 0);
  state.tokens_read.assign(static_cast<size_t>(sequences), 0);
  return state;
}

FastState FastState::clone() const {
  auto copy = *this;
  copy.closed = map_defined([](const at::Tensor& sums) { return sums.clone(); }, closed);
  copy.open = map_defined([](const at::Tensor& sums) { return sums.clone(); }, open);
  return copy;
}

FastState FastState::detach() const {
  auto copy = *this;
  copy.closed = map_defined([](const at::Tensor& sums) { return sums.detach(); }, closed);
  copy.open = map_defined([](const at::Tensor& sums) { return sums.detach(); }, open);
  return copy;
}

FastState FastState::sequence(int64_t index) const {
  const auto take = [&](const at::Tensor& sums) { return sums.narrow(0, index, 1); };
  auto one = *this;
  one.closed = map_defined(take, closed);
  one.open = map_defined(take, open);
  one.open_tokens = {open_tokens[static_cast<size_t>(index)]};
  one.tokens_read = {tokens_read[static_cast<size_t>(index)]};
  return one;
}

FastState FastState::join(const std::vector<FastState>& states) {
  FastState joined = states.front();
  bool any_closed = false;
  for (const auto& state : states) any_closed = any_closed || state.closed.is_defined();
  const auto gather = [&](bool takes_closed) {
    WeightSet sets;
    for (size_t weight = 0; weight < weight_names.size(); ++weight) {
      std::vector<at::Tensor> parts;
      for (const auto& state : states) {
        const auto& set = takes_closed ? state.closed : state.open;
        parts.push_back(set.is_defined() ? *set.all()[weight] : at::zeros_like(*state.open.all()[weight]));
      }
      *sets.all()[weight] = at::cat(parts);
    }
    return sets;
  };
  joined.open = gather(false);
  if (any_closed) joined.closed = gather(true);
  joined.open_tokens.clear();
  joined.tokens_read.clear();
  for (const auto& state : states) {
    joined.open_tokens.insert(joined.open_tokens.end(), state.open_tokens.begin(), state.open_tokens.end());
    joined.tokens_read.insert(joined.tokens_read.end(), state.tokens_read.begin(), state.tokens_read.end());
  }
  return joined;
}

WeightSet FastState::total() const {
  if (!closed.is_defined()) return open;
  return map_weights([](const at::Tensor& before, const at::Tensor& now) { return before + now; }, closed, open);
}

std::vector<at::Tensor> FastState::tensors() const {
  std::vector<at::Tensor> all;
  for (const auto* set : {&closed, &open})
    for (const auto* tensor : set->all())
      if (tensor->defined()) all.push_back(*tensor);
  return all;
}

std::vector<DriftFigure> drift_figures(const FastState& state, const WeightSet& slow_weights, const WeightSet& steps) {
  const at::NoGradGuard no_grad;
  std::vector<DriftFigure> figures;
  const auto total = state.total();
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

void close_segment(FastState& state, const SegmentEnd& end, const WeightSet& slow_weights, const WeightSet& steps) {
  for (size_t index = 0; index < weight_names.size(); ++index) {
    const auto& open = *state.open.all()[index];
    auto& closed = *state.closed.all()[index];
    const auto& decay = *end.decay.all()[index];
    if (!closed.defined())
      closed = open;
    else
      closed = (decay.defined() ? closed * decay : closed) + open;
    if (end.max_drift > 0)
      closed = scale_sequences(closed, guard(closed, *slow_weights.all()[index], *steps.all()[index], end.max_drift));
  }
  state.open = map_weights([](const at::Tensor& sums) { return at::zeros_like(sums); }, state.open);
  for (auto& tokens : state.open_tokens) tokens = 0;
}

}  // namespace fwl
