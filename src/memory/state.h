// What a fast weight layer remembers of a text: sums of gradients per weight and sequence, and the place in the
// segment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/weight_set.h"

namespace fwl {

// Time is cut into segments at fixed positions. Sums of the open segment are kept apart from those of closed ones,
// because decay, guard and the gradients' point change only at the boundaries: so a text read token by token leaves
// the same state as one read whole. Tokens of weight 0 do not count as positions.
struct FastState {
  WeightSet closed;                  // B,…: decayed sums of all closed segments; undefined while none is closed
  WeightSet open;                    // B,…: sums of the open segment
  std::vector<int64_t> open_tokens;  // B: tokens in the open segment
  std::vector<int64_t> tokens_read;  // B: tokens that updated the sums since the start
  int64_t segment_tokens = 0;        // length of a segment; 0: a segment never ends

  bool is_defined() const { return open.is_defined(); }
  bool is_segment_full() const { return segment_tokens > 0 && open_tokens.front() == segment_tokens; }
  int64_t sequences() const { return static_cast<int64_t>(open_tokens.size()); }

  FastState clone() const;
  FastState detach() const;
  FastState sequence(int64_t index) const;                      // one sequence's state
  static FastState join(const std::vector<FastState>& states);  // several sequences' states in one batch
  WeightSet total() const;                                      // closed + open: what the steps are applied to
  std::vector<at::Tensor> tensors() const;                      // every defined tensor

  static FastState zeros(const WeightSet& slow_weights, int64_t sequences);
};

// Per weight: the size of the update and of the weight it changes, averaged over the sequences.
struct DriftFigure {
  std::string weight;
  double update_norm = 0;  // |alpha * Delta|
  double weight_norm = 0;  // |theta|
  double drift = 0;        // their ratio; the first alone where the weight is zero
};
std::vector<DriftFigure> drift_figures(const FastState& state, const WeightSet& slow_weights, const WeightSet& steps);

// closed <- guard(decay * closed + open), open <- 0. With max_drift > 0 the guard scales an update down to at most
// max_drift times the norm of its weight (or of a freshly drawn one, for weights that start at zero), and drops one
// that is not finite.
struct SegmentEnd {
  WeightSet decay;  // numbers in (0,1), or undefined: no decay
  double max_drift = 0;
};
void close_segment(FastState& state, const SegmentEnd& end, const WeightSet& slow_weights, const WeightSet& steps);

// A safetensors file with the sums and the positions; loading checks every shape against the layer's weights.
void save_state(const FastState& state, const std::string& path);
FastState load_state(const std::string& path, const WeightSet& slow_weights);

}  // namespace fwl
