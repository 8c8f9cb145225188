// The fast weight layer: hidden states to losses under weights that every past token has moved by its own gradient.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "head/head.h"
#include "memory/fast_linear.h"
#include "memory/state.h"
#include "memory/weight_set.h"
#include "weights/weight_source.h"

namespace fwl {

// Where each token's gradient is taken: at the slow weights (the paper; all positions in parallel), or at the fast
// weights of its chunk's start (self-correcting; sequential over chunks, in this layer only).
enum class GradientPoint { slow, boundary };

struct LayerOptions {
  bool is_residual = false;    // y = h + f(h)
  bool has_layer_norm = true;  // without it y = z2: no gain, no shift
  double epsilon = 1e-6;       // of the layer norm
  double grad_scale = 1;       // a constant factor on every inner gradient
  GradientPoint gradient_at = GradientPoint::slow;
  int64_t segment_tokens = 0;                   // decay and guard act this often; 0: never. boundary: at each chunk
  double max_drift = 0;                         // bound on |alpha Delta| / |theta|; 0: none
  bool is_first_order = false;                  // stop the gradient through the inner gradients
  int64_t kept_state_bytes = int64_t{1} << 30;  // boundary training recomputes instead of keeping more than this
};

struct LayerParameters {
  WeightSet slow;
  at::Tensor log_steps;     // 6: log of the step sizes, in the order of weight_names; -inf switches a weight off
  at::Tensor decay_logits;  // 6: logits of the decays, or undefined: no decay
};

struct LayerCall {
  at::Tensor token_weights;  // B,T or undefined; 0: the token neither updates nor scores nor counts as a position
  int64_t chunk_tokens = 128;
  Form form = Form::chunked;
  bool wants_slow_loss = true;  // with gradient_at = boundary the slow loss costs a head sweep of its own
  // A segment that ends with the last token is closed by the next call: segment training detaches the state between
  // its calls, and the decay is learned from what the next one does with it.
  bool leaves_last_segment_open = false;
};

struct LayerOutput {
  at::Tensor slow_loss;  // B,T: fast weights off; undefined if not wanted
  at::Tensor fast_loss;  // B,T
  FastState state;
};

class FastWeightLayer {
 public:
  FastWeightLayer(LayerParameters parameters, LayerOptions options);

  // hidden: B,T,D   targets: B,T. `state` may be undefined: a fresh one.
  LayerOutput forward(const at::Tensor& hidden, const at::Tensor& targets, const std::shared_ptr<const Head>& head,
                      const LayerCall& call, const FastState& state = {}) const;

  // The adapted output for tokens whose targets are not known yet; the state does not change.   B,T,D -> B,T,D
  at::Tensor adapt(const at::Tensor& hidden, const FastState& state) const;
  // The slow output.   …,D -> …,D
  at::Tensor slow_output(const at::Tensor& hidden) const;

  WeightSet steps() const;   // numbers
  WeightSet decays() const;  // numbers, or undefined
  const LayerParameters& parameters() const { return parameters_; }
  const LayerOptions& options() const { return options_; }

 private:
  LayerParameters parameters_;
  LayerOptions options_;
};

// Parameters by the names "fast.U", "fast.log_steps", …; fresh ones: U of variance 1/D, W of variance 1/H or zero
// (residual), step sizes for hidden states of variance 1.
struct LayerShape {
  int64_t width, layer_width, output_width;  // D, H, D
  bool is_residual;
  double decay;       // where the decays start; 0: none
  double step_scale;  // factor on the first step sizes
};
LayerParameters layer_parameters(const LayerShape& shape, WeightSource& source);
LayerParameters initial_parameters(int64_t width, int64_t layer_width, int64_t output_width, bool is_residual,
                                   const at::TensorOptions& options);

// Step sizes that fit the data: scale * 3e-3 / mean |key|^2 for the matrices.   hidden: B,T,D -> 6
at::Tensor log_steps_from_data(const at::Tensor& hidden, const LayerParameters& parameters, double scale);

Form form_from_name(const std::string& name);
GradientPoint gradient_point_from_name(const std::string& name);

}  // namespace fwl
