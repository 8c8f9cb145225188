// Starts training from the weights of a saved model or adapter.
#pragma once

#include "base/base_model.h"
#include "files/safetensors.h"

namespace fwl {

// Copies weights by name from a file that was checked. Each parameter must be there with its shape; weights that are
// not trained must be zero, because they would be lost.
void start_from(const NamedTensors& parameters, const SafetensorsFile& file);

}  // namespace fwl
