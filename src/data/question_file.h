// Questions with given answers, one JSON object per line: {"prompt": "…", "answer": " yes", "choices": [" yes", "
// no"]}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fwl {

struct AnsweredQuestion {
  std::string prompt, answer;        // the answer follows the prompt directly, so it starts with its own space
  std::vector<std::string> choices;  // with the answer among them, or none

  size_t right_choice() const;  // the index of the answer
};

std::vector<AnsweredQuestion> read_questions(const std::string& path);
// Errors name `where` and the line. Empty lines are skipped.
std::vector<AnsweredQuestion> parse_questions(const std::string& where, std::string_view text);

}  // namespace fwl
