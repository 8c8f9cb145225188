// Starts training from the weights of a saved model or adapter.
#pragma once

#include <string>

#include "base/base_model.h"

namespace fwl {

// Copies weights by name from a safetensors file. Each parameter must be there with its shape; weights that are not
// trained must be zero, because they would be lost.
void start_from(const NamedTensors& parameters, const std::string& path);

}  // namespace fwl
