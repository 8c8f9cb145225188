// Names and terms from before the base's window: which of them a method predicts that the base alone does not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evaluate/analysis.h"
#include "report/evaluation_result.h"
#include "report/scored_text.h"

namespace fwl {

// A word of the text that occurred before the window and not yet in it, with its probability under both methods.
struct RecalledTerm {
  std::string word;
  int64_t first = 0, past = 0;  // its tokens in the text
  int64_t distance = 0;         // tokens since it occurred last
  double before = 0, after = 0;
};

struct Recall {
  int64_t terms = 0;  // from before the window
  int64_t before_predicts = 0, after_predicts = 0;
  std::vector<RecalledTerm> gained, lost;  // predicted by one method alone, by the difference in probability
};

// A term is a word of at least four letters, digits or underscores, rarer so far than one in 500 words. It is predicted
// if it has more than half of the probability: then it is the first choice.
Recall recalled_terms(const NllPair& pair, const ScoredText& text, int64_t context_tokens);

// The context of the base's windows in a result, if the base restarts with every window while fast weights go on;
// otherwise 0: there is nothing from before the window.
int64_t window_of(const EvaluationResult& result);

}  // namespace fwl
