// Reads a text and gives the logits after every token, for frameworks that score and sample by themselves.
#pragma once

#include "model/language_model.h"

namespace fwl {

// Reads tokens (B,T) that follow the session's last ones. The logits (B,T,V) of the token after each are those that
// LanguageModel::read scores it with, and can be differentiated like its losses.
at::Tensor read_logits(const LanguageModel& model, const at::Tensor& tokens, Session& session, Adaptation adaptation);

}  // namespace fwl
