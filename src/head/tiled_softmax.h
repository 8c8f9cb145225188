// Losses of the full softmax and their gradients without a graph: tile by tile of the vocabulary, with a running
// maximum and sum, so that logits and probabilities stay in the cache and are never stored.
#pragma once

#include "head/head.h"
#include "weights/matrix.h"

namespace fwl {

struct TiledResult {
  at::Tensor losses, log_sums;  // N
  at::Tensor gradient;          // N,D: of each loss with respect to its hidden state; undefined if not wanted
};

// hidden: N,D   weight: V,D   bias: V or undefined   targets: N. `tile_bytes` bounds a tile of dequantised rows, and
// one of logits.
TiledResult tiled_softmax(const at::Tensor& hidden, const Matrix& weight, const at::Tensor& bias,
                          const at::Tensor& targets, bool wants_gradient, int64_t tile_bytes);

}  // namespace fwl
