// Writes a fine-tuned model as a Hugging Face folder, like the one it came from.
#pragma once

#include <string>

#include "base/base_model.h"

namespace fwl {

// Copies everything but the weights from the folder `source`.
void save_published_model(const BaseModel& base, const std::string& source, const std::string& folder);

}  // namespace fwl
