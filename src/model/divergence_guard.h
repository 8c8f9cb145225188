// Notices when fast weights diverge on a long text, and rolls them back to their last good state.
#pragma once

#include "model/language_model.h"

namespace fwl {

// Fast weights without decay can grow until their predictions are worse than a blind guess. Loss tells: a part of a
// text whose mean loss is not finite, or above that of equal probabilities and well above that of earlier parts, was
// read by weights that have diverged.
class DivergenceGuard {
 public:
  DivergenceGuard(const LanguageModel& model, Session& session);

  // After a part of a text was read. Returns true if the fast weights had diverged and were rolled back. Parts that are
  // too short to tell are judged together with the next ones.
  bool check(double loss_sum, int64_t tokens);

  // Hidden states that memories in the blocks have touched are dropped with them: the session then has no context, and
  // whoever needs one reads the latest part again.
  void roll_back();

 private:
  bool has_diverged(double mean) const;

  const LanguageModel& model_;
  Session& session_;
  FastState good_, good_blocks_;
  double sum_ = 0;  // of the parts that were read well
  int64_t tokens_ = 0;
  double unjudged_sum_ = 0;
  int64_t unjudged_tokens_ = 0;
};

}  // namespace fwl
