// The tensors of a fast-weight state as part of a larger file.
#pragma once

#include <string>

#include "memory/state.h"
#include "weights/tensor_reader.h"

namespace fwl {

void append_state(TensorMap& tensors, const std::string& prefix, const FastState& state);
// Checks every shape against the layer's weights.
FastState take_state(TensorReader& reader, const std::string& prefix, const WeightSet& slow_weights);

}  // namespace fwl
