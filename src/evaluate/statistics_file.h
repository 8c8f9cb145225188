// Caches the mean squared gradients of training data on disk; they depend only on model and data.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "model/language_model.h"

namespace fwl {

// Returns the statistics in the file if it has the same key; otherwise calls `make` and stores its result. A damaged
// file is replaced.
std::vector<at::Tensor> kept_statistics(const std::string& path, const std::string& key, const LanguageModel& model,
                                        const std::function<std::vector<at::Tensor>()>& make);

}  // namespace fwl
