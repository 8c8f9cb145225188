#include <stdexcept>

#include "data/question_file.h"
#include "fuzz/fuzz_target.h"

namespace fwl {
namespace {

void run(std::string_view bytes) {
  for (const auto& question : parse_questions("q", bytes))
    if (!question.choices.empty() && question.right_choice() >= question.choices.size())
      throw std::logic_error("answer");
}

}  // namespace

FuzzTarget question_file_target() {
  return {"question_file",
          {R"({"prompt": "Is it?", "answer": " yes", "choices": [" yes", " no"]})",
           "{\"prompt\": \"a\", \"answer\": \"b\"}\n\n{\"answer\": \"c\", \"prompt\": \"\\u00e4\"}\r\n"},
          run};
}

}  // namespace fwl
