// Whether a session in memory is one of a model's own.
#pragma once

#include "model/language_model.h"

namespace fwl {

// Throws a UserError for the session of a model of another shape, or with other fast weights.
void expect_own_session(const LanguageModel& model, const Session& session);

}  // namespace fwl
