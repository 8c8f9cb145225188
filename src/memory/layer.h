// The fast-weight layer: its weights are updated by the gradient of every past token's loss.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "memory/fast_memory.h"
#include "memory/update_rule.h"
#include "memory/weight_set.h"

namespace fwl {

// Where each token's gradient is taken: at the slow weights (the paper; all positions in parallel), or at the fast
// weights of its chunk's start (self-correcting; sequential over chunks, in this layer only).
enum class GradientAt { slow, boundary };
GradientAt gradient_at_from_name(const std::string& name);

struct LayerOptions {
  bool is_residual = false;    // y = h + f(h)
  bool has_layer_norm = true;  // without it y = z2: no gain, no shift
  double epsilon = 1e-6;       // of the layer norm
  double grad_scale = 1;       // a constant factor on every inner gradient
  GradientAt gradient_at = GradientAt::slow;
  int64_t chunk_tokens = 128;                   // tokens that are processed together; boundary: a chunk
  int64_t segment_tokens = 0;                   // decay and guard act this often; 0: never. boundary: at each chunk
  double max_drift = 0;                         // bound on |alpha Delta| / |theta|; 0: none
  bool is_first_order = false;                  // stop the gradient through the inner gradients
  int64_t kept_state_bytes = int64_t{1} << 30;  // boundary training recomputes instead of keeping more than this
  UpdateRuleOptions rule;                       // how gradients become updates
};

struct LayerParameters {
  WeightSet slow;
  at::Tensor log_steps;     // 6: log of the step sizes, in the order of weight_names; -inf switches a weight off
  at::Tensor decay_logits;  // 6: logits of the decays, or undefined: no decay
};

enum class LayerResult;

class FastWeightLayer : public FastMemory {
 public:
  FastWeightLayer(LayerParameters parameters, LayerOptions options);

  std::string kind() const override { return "layer"; }
  NamedTensors parameters() const override;
  MemoryCost cost() const override;
  StateLayout state_layout(const Head&) const override { return state_layout(); }
  StateLayout state_layout() const;

  MemoryLosses read(const at::Tensor& hidden, const at::Tensor& targets, const std::shared_ptr<const Head>& head,
                    const MemoryCall& call, FastState& state) const override;
  // The outputs (B,T,D) that the losses of read() are those of, 0 for tokens of weight 0. Moves the state alike.
  at::Tensor outputs(const at::Tensor& hidden, const at::Tensor& targets, const std::shared_ptr<const Head>& head,
                     const MemoryCall& call, FastState& state) const;
  at::Tensor adapt(const at::Tensor& hidden, const FastState& state) const override;
  Adapter adapter(const FastState& state) const override;
  std::unique_ptr<MemoryCursor> cursor(const FastState& state, std::shared_ptr<const Head> head) const override;

  std::shared_ptr<const FastMemory> with_step_size(double step) const override;
  std::vector<std::pair<std::string, double>> step_sizes() const override;
  std::vector<DriftFigure> drift(const FastState& state) const override;
  BiasDecay bias_decay() const override;
  std::vector<std::string> step_parameter_names() const override { return {"fast.log_steps", "fast.decay_logits"}; }
  std::vector<std::string> slow_output_names() const override;

  int64_t segment_tokens(int64_t chunk_tokens) const;  // after how many tokens a segment ends
  WeightSet steps() const;                             // numbers
  WeightSet decays() const;                            // numbers, or undefined
  const LayerParameters& weights() const { return parameters_; }
  const LayerOptions& options() const { return options_; }
  const std::shared_ptr<const UpdateRule>& rule() const { return rule_; }

 private:
  MemoryLosses run(const at::Tensor& hidden, const at::Tensor& targets, const std::shared_ptr<const Head>& head,
                   MemoryCall call, LayerResult result, FastState& state) const;

  LayerParameters parameters_;
  LayerOptions options_;
  std::shared_ptr<const UpdateRule> rule_;
};

// Parameters by the names "fast.U", "fast.log_steps", …; fresh ones: U of variance 1/D, W of variance 1/H or zero
// (residual), step sizes for hidden states of variance 1.
struct LayerShape {
  int64_t hidden_size, layer_size, output_size;  // D, H, D
  bool is_residual;
  double decay;       // initial decay; 0: none
  double step_scale;  // factor on the initial step sizes
};
LayerParameters layer_parameters(const LayerShape& shape, WeightSource& source);
LayerParameters initial_parameters(int64_t hidden_size, int64_t layer_size, int64_t output_size, bool is_residual,
                                   const at::TensorOptions& options);

// Step sizes that fit the data: scale * 3e-3 / mean |key|^2 for the matrices.   hidden: B,T,D -> 6
at::Tensor log_steps_from_data(const at::Tensor& hidden, const LayerParameters& parameters, double scale);

}  // namespace fwl
