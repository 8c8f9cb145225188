// The layer's view of its fast-weight state: sums of gradients per weight, of closed segments and of the open one.
#pragma once

#include <string>
#include <vector>

#include "memory/fast_memory.h"
#include "memory/update_rule.h"
#include "memory/weight_set.h"

namespace fwl {

// Sums of the open segment are kept apart from those of closed ones, because decay, guard and the weights that
// gradients are taken at change only between segments: so a text read token by token leaves the same state as one read
// whole.
struct LayerSums {
  WeightSet closed;    // B,…: decayed sums of all closed segments; undefined while none is closed
  WeightSet open;      // B,…: sums of the open segment
  WeightSet velocity;  // B,…: of rules that have one; undefined while no segment is closed

  static LayerSums of(const FastState& state);
  void store(FastState& state) const;
  WeightSet total() const;  // closed + open: what the steps are applied to

  std::vector<at::Tensor> tensors() const;  // all eighteen in a fixed order, undefined ones included
  void set_tensors(const std::vector<at::Tensor>& tensors, size_t first);
};

StateLayout layer_state_layout(const WeightSet& slow_weights, bool has_velocity);

std::vector<DriftFigure> drift_figures(const LayerSums& sums, const WeightSet& slow_weights, const WeightSet& steps);

// What happens to the sums at the end of a segment. With max_drift > 0 the guard scales an update down to at most
// max_drift times the norm of its weight (or of a freshly drawn one, for weights that start at zero), and drops one
// that is not finite.
struct SegmentEnd {
  WeightSet decay;  // numbers in (0,1), or undefined: no decay
  double max_drift = 0;
  std::shared_ptr<const UpdateRule> rule;
};
void close_segment(LayerSums& sums, const SegmentEnd& end, const WeightSet& slow_weights, const WeightSet& steps);

}  // namespace fwl
