// Gradient checkpointing: runs a function without keeping its graph, and runs it again in the backward pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace fwl {

using TensorFunction = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

// function(inputs), differentiable with respect to the inputs and to the captured tensors, which the function uses
// besides its inputs, e.g. parameters. Undefined inputs and outputs are allowed. The function must be deterministic.
std::vector<at::Tensor> checkpointed(const TensorFunction& function, const std::vector<at::Tensor>& inputs,
                                     const std::vector<at::Tensor>& captured);

}  // namespace fwl
