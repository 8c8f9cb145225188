// What a fast weight layer accepts: one clear error for anything else.
#pragma once

#include "memory/layer.h"

namespace fwl {

void check_layer(const LayerParameters& parameters, const LayerOptions& options, const UpdateRule& rule);
void check_layer_input(const at::Tensor& hidden, const at::Tensor& targets, const Head& head, const MemoryCall& call,
                       const LayerParameters& parameters);
void check_finite_hidden(const at::Tensor& hidden);

}  // namespace fwl
