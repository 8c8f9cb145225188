// Session files that keep a note beside the session, e.g. the conversation so far. Without one they are the same files.
#pragma once

#include <string>

#include "model/language_model.h"

namespace fwl {

// The KV cache is kept exactly: the session goes on with the same bits.
void save_session_with_note(const LanguageModel& model, const Session& session, const std::string& path,
                            const std::string& identity, const std::string& note);
std::string session_note(const std::string& path);  // empty: none

}  // namespace fwl
