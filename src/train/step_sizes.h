// What the layer has learned about learning, for run records.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/language_model.h"

namespace fwl {

// Step sizes and decays under names like "step U", "decay W".
std::vector<std::pair<std::string, double>> step_sizes_of(const Adapter& adapter);

}  // namespace fwl
