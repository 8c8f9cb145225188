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

  // After a part of a text was read. Returns true if the fast weights had diverged and were rolled back.
  bool check(double loss_sum, int64_t tokens);

 private:
  bool has_diverged(double mean) const;

  const LanguageModel& model_;
  Session& session_;
  FastState good_;
  BlockState good_blocks_;
  double sum_ = 0;  // of the parts that were read well
  int64_t tokens_ = 0;
};

}  // namespace fwl
