// Plans one call of the layer: which sequences run together, and in which windows.
#pragma once

#include <vector>

#include "memory/layer_run.h"

namespace fwl {

// What a call wants of every token: its loss (B,T), or the adapted output (B,T,D), which then stands for the fast loss.
enum class LayerResult { losses, outputs };

class LayerSchedule {
 public:
  LayerSchedule(const FastWeightLayer& layer, const std::shared_ptr<const Head>& head, const MemoryCall& call,
                LayerResult result = LayerResult::losses);

  // `lengths`: how many tokens of each sequence count; the rest is padding of weight 0 at its end. Sequences at
  // different positions in their segments, or of different lengths where segments matter, run one by one.
  MemoryLosses read(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& weights,
                    const std::vector<int64_t>& lengths, FastState& state) const;

 private:
  MemoryLosses read_one_by_one(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& weights,
                               const std::vector<int64_t>& lengths, FastState& state) const;
  MemoryLosses read_in_step(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& weights,
                            FastState& state) const;
  MemoryLosses read_window(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& weights,
                           FastState& state) const;

  std::shared_ptr<LayerRun> run_;
  MemoryCall call_;
  double grad_scale_;
  LayerResult result_;
  int64_t width_;  // of an output
};

}  // namespace fwl
