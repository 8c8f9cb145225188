// The context of a new session, from the flags --context and --long-text.
#pragma once

#include <string>

#include "base/base_model.h"

namespace fwl {

// A model with a limited context restarts by default.
ContextOptions new_context(const BaseModel& base, int64_t context_tokens, const std::string& long_text);

}  // namespace fwl
