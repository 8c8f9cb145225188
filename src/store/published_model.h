// Writes a model that has been trained further as it was published: a Hugging Face folder with new weights.
#pragma once

#include <string>

#include "base/base_model.h"

namespace fwl {

// Copies config, vocabulary and all else but the weights from the folder `source`.
void save_published_model(const BaseModel& base, const std::string& source, const std::string& folder);

}  // namespace fwl
