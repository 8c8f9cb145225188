// bf16 copies of weights, made once and kept as long as the weight lives, for products at that precision.
#pragma once

#include <ATen/core/Tensor.h>

namespace fwl {

// The weight rounded to bf16. It is rounded again after an operation or the optimizer has changed it. Pass the weight
// itself, not a view that is made for the call. May be called from several threads.
at::Tensor rounded_weight(const at::Tensor& weight);

}  // namespace fwl
