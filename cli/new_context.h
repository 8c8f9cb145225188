// The context of a new session, from the flags --context, --long-text and --kv-cache.
#pragma once

#include <string>

#include "base/base_model.h"
#include "support/fields.h"

namespace fwl {

// A model with a limited context restarts by default.
ContextOptions new_context(const BaseModel& base, int64_t context_tokens, const std::string& long_text,
                           const std::string& kv_cache);

void add_kv_cache_field(Fields& fields, std::string& kv_cache);

}  // namespace fwl
