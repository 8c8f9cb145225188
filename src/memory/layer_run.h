// One call of the layer on a batch whose sequences all stand at the same place in their segments.
#pragma once

#include <memory>
#include <vector>

#include "memory/layer.h"
#include "memory/passes.h"

namespace fwl {

// Shared, because the graph of a training step may outlive the call: recomputed chunks come back to it.
class LayerRun : public std::enable_shared_from_this<LayerRun> {
 public:
  LayerRun(const FastWeightLayer& layer, std::shared_ptr<const Head> head, const LayerCall& call);

  // Adapts the outputs of B,T tokens and moves the state past them.
  // factor: B,T,1, what multiplies each token's inner gradient, or undefined
  struct Adapted {
    at::Tensor y;          // B,T,D
    at::Tensor slow_loss;  // B,T
  };
  Adapted adapt(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& factor, FastState& state) const;

  // y: B,T,D -> B,T
  at::Tensor loss(const at::Tensor& y, const at::Tensor& targets, const at::Tensor& expected_upstream) const;

 private:
  struct Stretch {
    int64_t start, count;
    bool ends_segment;
  };
  std::vector<Stretch> cut_at_segments(int64_t tokens, const FastState& state) const;

  Adapted adapt_from_slow(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& factor,
                          FastState& state) const;
  Adapted adapt_from_boundary(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& factor,
                              FastState& state) const;
  at::Tensor adapt_chunk(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& factor,
                         const Stretch& stretch, FastState& state) const;
  at::Tensor adapt_chunks_recomputed(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& factor,
                                     const std::vector<Stretch>& stretches, FastState& state) const;
  bool keeps_every_state(size_t stretches, const FastState& state) const;
  InnerGradients gradients_at(const SlowPass& slow, const at::Tensor& targets, const at::Tensor& factor,
                              const WeightSet& point, at::Tensor* loss) const;
  void advance(FastState& state, const Stretch& stretch, const WeightSet& sums) const;

  WeightSet slow_, steps_;
  LayerOptions options_;
  SegmentEnd segment_end_;
  std::shared_ptr<const Head> head_;
  LayerCall call_;
};

}  // namespace fwl
