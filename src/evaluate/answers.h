// Answers questions of a file with examples of another, and counts the right ones.
#pragma once

#include <string>
#include <vector>

#include "data/question_file.h"
#include "evaluate/few_shot.h"
#include "support/progress.h"

namespace fwl {

struct AnswerOptions {
  FewShotOptions few_shot;
  std::string separator = "\n\n";  // after every example
  bool is_by_length = false;       // compares likelihoods per byte of a choice
};

struct Answers {
  std::vector<size_t> chosen;  // the choice of each question
  std::vector<bool> is_right;
  int64_t examples_in_context = 0, rollbacks = 0;
  double learning_seconds = 0, answering_seconds = 0;

  double share() const;  // of right ones
};

Answers answer(const LanguageModel& model, const Tokenizer& tokenizer, const std::vector<AnsweredQuestion>& examples,
               const std::vector<AnsweredQuestion>& questions, const AnswerOptions& options,
               const ProgressReport& progress = {});

struct Interval {
  double low = 0, high = 0;
};
Interval share_interval(const Answers& answers);                   // 95 %, by Wilson's formula
Interval difference_interval(const Answers& a, const Answers& b);  // 95 %, of b - a on the same questions

}  // namespace fwl
