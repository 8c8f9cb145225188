// Advances a session of one text token by token; equal to next_logits and read of the language model, but faster.
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
  // The same for several sessions over one model, in one pass of the base.
  struct Step {
    TokenStepper* stepper;
    int64_t token;
  };
  static void read(const std::vector<Step>& steps);
  void finish();  // writes everything back to the session

 private:
  const LanguageModel& model_;
  Session& session_;
  Adaptation adaptation_;
  std::unique_ptr<MemoryCursor> cursor_;  // where a memory learns
};

}  // namespace fwl
