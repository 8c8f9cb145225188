// The mean squared gradients of a model's training data, kept on disk: they depend on model and data alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "model/language_model.h"

namespace fwl {

// Those in the file if they were made under the same key, otherwise what `make` gives, which is then kept. A damaged
// file is made anew.
std::vector<at::Tensor> kept_statistics(const std::string& path, const std::string& key, const LanguageModel& model,
                                        const std::function<std::vector<at::Tensor>()>& make);

}  // namespace fwl
