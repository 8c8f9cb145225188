// The two passes of the layer over one stretch of tokens, equation by equation.
#pragma once

#include "memory/fast_linear.h"
#include "memory/layer.h"

namespace fwl {

// Every tensor is B,T,…; named as in docs/fast-weights.md.
struct SlowPass {
  at::Tensor h;                // D
  at::Tensor z1, v;            // H
  at::Tensor normal, inverse;  // n: D and r: 1, undefined without layer norm
  at::Tensor y;                // D
};

// The gradients of each token's own loss to what each weight feeds.
struct InnerGradients {
  at::Tensor h, v;              // the keys: what U and W were applied to
  at::Tensor dz1, dz2, dg, ds;  // B,T,H and three times B,T,D; dg, ds undefined without layer norm
};

struct FastPass {
  at::Tensor y;    // B,T,D
  WeightSet sums;  // base sums + the stretch's own, after its last token
};

// `point` are the weights the gradients are taken at: shared by all sequences, or with a leading B.
SlowPass slow_pass(const at::Tensor& h, const WeightSet& point, const LayerOptions& options);
InnerGradients inner_gradients(const SlowPass& slow, const at::Tensor& dy, const WeightSet& point,
                               const LayerOptions& options);
FastPass fast_pass(const SlowPass& slow, const InnerGradients& gradients, const WeightSet& point, const WeightSet& base,
                   const WeightSet& steps, const LayerOptions& options, Form form, int64_t chunk_tokens);

// theta - step * sums, per sequence.
WeightSet stepped(const WeightSet& slow_weights, const WeightSet& steps, const WeightSet& sums);

// The same stretch, some of its tokens.
SlowPass narrow(const SlowPass& slow, int64_t start, int64_t count);
InnerGradients narrow(const InnerGradients& gradients, int64_t start, int64_t count);

}  // namespace fwl
