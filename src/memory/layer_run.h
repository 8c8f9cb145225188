// One call of the layer on a batch whose sequences all stand at the same place in their segments.
#pragma once

#include <memory>
#include <vector>

#include "memory/layer.h"
#include "memory/layer_sums.h"
#include "memory/passes.h"

namespace fwl {

// Shared, because the graph of a training step may outlive the call: recomputed chunks come back to it.
class LayerRun : public std::enable_shared_from_this<LayerRun> {
 public:
  LayerRun(const FastWeightLayer& layer, std::shared_ptr<const Head> head, const MemoryCall& call);

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
  // Some tokens of one segment.
  struct Stretch {
    int64_t start, count;
    bool ends_segment;
  };
  struct Gradients {
    LayerForward forward;  // at the weights where they were taken
    InnerGradients inner;
  };
  std::vector<Stretch> cut_at_segments(int64_t tokens, const FastState& state) const;

  Adapted adapt_from_slow(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& factor,
                          const std::vector<Stretch>& stretches, LayerSums& sums) const;
  Adapted adapt_from_boundary(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& factor,
                              const std::vector<Stretch>& stretches, LayerSums& sums) const;
  at::Tensor adapt_chunk(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& factor,
                         const Stretch& stretch, LayerSums& sums) const;
  at::Tensor adapt_chunks_recomputed(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& factor,
                                     const std::vector<Stretch>& stretches, LayerSums& sums) const;
  bool keeps_every_state(size_t stretches, const LayerSums& sums) const;
  Gradients gradients_at(const WeightSet& weights, const at::Tensor& hidden, const at::Tensor& targets,
                         const at::Tensor& factor, at::Tensor* loss) const;
  // The weights that closed segments have led to: what the open segment's updates are added to.
  WeightSet segment_weights(const LayerSums& sums) const;
  void advance(LayerSums& sums, const Stretch& stretch, const WeightSet& open) const;

  WeightSet slow_, steps_;
  LayerOptions options_;
  SegmentEnd segment_end_;
  std::shared_ptr<const Head> head_;
  MemoryCall call_;
};

}  // namespace fwl
