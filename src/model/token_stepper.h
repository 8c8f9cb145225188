// Advances sessions without scoring what they read, for generation: a text at once, token by token, or several sessions
// in one pass. Equal to next_logits and read of the language model, but faster.
#pragma once

#include <memory>
#include <vector>

#include "model/language_model.h"

namespace fwl {

// Reads tokens (B,T) that follow the session's last ones; does not move a memory on top. -> B,T,D
at::Tensor advance(const LanguageModel& model, const at::Tensor& tokens, Session& session, Adaptation adaptation);

struct SessionStep {
  int64_t token;
  Session* session;  // of one text
  Adaptation adaptation;
};
// The same with one token each for several sessions, in one pass of the base.
void advance(const LanguageModel& model, const std::vector<SessionStep>& steps);

// Of hidden states (1,N,D) of a session of one text, under fast weights that stay as they are. -> N,V
at::Tensor logits_of(const LanguageModel& model, const at::Tensor& hidden, const Session& session,
                     Adaptation adaptation);

// Between the first step and finish() the session's fast weights are kept here.
class TokenStepper {
 public:
  TokenStepper(const LanguageModel& model, Session& session, Adaptation adaptation);

  at::Tensor next_logits();  // 1,V
  void read(int64_t token);  // after next_logits
  // The same for several sessions over one model: in one product of the head where it is the same for all, and in one
  // pass of the base. Each gets the bits that it would get alone.
  static std::vector<at::Tensor> next_logits(const std::vector<TokenStepper*>& steppers);  // each 1,V
  struct Step {
    TokenStepper* stepper;
    int64_t token;
  };
  static void read(const std::vector<Step>& steps);
  void finish();  // writes everything back to the session

 private:
  // The head's input under fast weights that stay as they are; undefined where they learn.   1,D
  at::Tensor head_input() const;

  const LanguageModel& model_;
  Session& session_;
  Adaptation adaptation_;
  std::unique_ptr<MemoryCursor> cursor_;  // where a memory learns
  FastMemory::Adapter adapter_;           // where there is one that does not
  std::shared_ptr<const Head> head_;      // of this session
};

}  // namespace fwl
