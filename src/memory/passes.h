// The layer's equations: its forward pass, the inner gradients, and the forward pass under fast weights.
#pragma once

#include <functional>

#include "memory/fast_linear.h"
#include "memory/layer.h"

namespace fwl {

// Every tensor is B,T,…; named as in docs/fast-weights.md.
struct LayerForward {
  at::Tensor h;                // D
  at::Tensor z1, v;            // H
  at::Tensor normal, inverse;  // n: D and r: 1, undefined without layer norm
  at::Tensor y;                // D
};

// The maps of a forward pass. What differs between slow weights, fast weights and one token at a time is only how
// these are applied.
struct LayerMaps {
  using Map = std::function<at::Tensor(const at::Tensor&)>;
  Map first;   // h -> z1
  Map second;  // v -> z2
  Map affine;  // normalised z2 -> gain * n + shift
};
LayerForward layer_forward(const at::Tensor& h, const LayerMaps& maps, const LayerOptions& options);

// `weights` are shared by all sequences, or have a leading B.
LayerForward layer_forward(const at::Tensor& h, const WeightSet& weights, const LayerOptions& options);

// The gradients of each token's own loss to what each weight feeds.
struct InnerGradients {
  at::Tensor h, v;              // the keys: what U and W were applied to
  at::Tensor dz1, dz2, dg, ds;  // B,T,H and three times B,T,D; dg, ds undefined without layer norm
};
// `at` is the forward pass that gave dy, under `weights`.
InnerGradients inner_gradients(const LayerForward& at, const at::Tensor& dy, const WeightSet& weights,
                               const LayerOptions& options);
// What the tokens add to the sums: the rule's choice, times a factor per token (B,T,1, or undefined).
void apply_rule(InnerGradients& gradients, const UpdateRule& rule, const at::Tensor& factor);

struct FastPass {
  at::Tensor y;    // B,T,D
  WeightSet sums;  // `open` + the stretch's own, after its last token
};
// The forward pass under `weights` - steps * (open + sum_{i<t} of the stretch).
// z1: of the stretch under `weights`, where it is known already
FastPass fast_pass(const at::Tensor& h, const at::Tensor& z1, const InnerGradients& gradients, const WeightSet& weights,
                   const WeightSet& open, const WeightSet& steps, const LayerOptions& options, Form form,
                   int64_t chunk_tokens);

// weights - steps * sums, per sequence.
WeightSet updated_weights(const WeightSet& weights, const WeightSet& steps, const WeightSet& sums);

// The same stretch, some of its tokens.
LayerForward narrow(const LayerForward& forward, int64_t start, int64_t count);
InnerGradients narrow(const InnerGradients& gradients, int64_t start, int64_t count);

}  // namespace fwl
