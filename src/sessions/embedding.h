// A text as one vector: the mean of the base's hidden states.
#pragma once

#include <span>
#include <vector>

#include "model/language_model.h"

namespace fwl {

std::vector<float> mean_hidden_state(const LanguageModel& model, std::span<const TokenId> tokens);

}  // namespace fwl
