// A session of one text that goes on token by token: what next_logits and read of the language model give, faster.
#pragma once

#include <memory>

#include "model/language_model.h"

namespace fwl {

// Between the first step and finish() the session's fast weights are kept here.
class TokenStepper {
 public:
  TokenStepper(const LanguageModel& model, Session& session, Adaptation adaptation);

  at::Tensor next_logits();  // 1,V
  void read(int64_t token);  // after next_logits
  void finish();             // the session is whole again

 private:
  const LanguageModel& model_;
  Session& session_;
  Adaptation adaptation_;
  std::unique_ptr<MemoryCursor> cursor_;  // where a memory learns
};

}  // namespace fwl
