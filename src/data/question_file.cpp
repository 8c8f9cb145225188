#include "data/question_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "files/memory_map.h"
#include "support/error.h"
#include "tokenizer/json_field.h"

namespace fwl {
namespace {

std::string text_field(const std::string& where, const nlohmann::json& object, const char* name) {
  auto text = json_field<std::string>(where, object, name);
  if (text.empty()) fail(fmt::format("{}: {}", where, name), "a text", "an empty one");
  return text;
}

AnsweredQuestion parse_question(const std::string& where, std::string_view line) {
  const auto object = parse_json_object(where, line);
  AnsweredQuestion question{text_field(where, object, "prompt"), text_field(where, object, "answer"), {}};
  const auto& choices = json_or_null(object, "choices");
  if (choices.is_null()) return question;
  if (!choices.is_array()) fail(where + ": choices", "an array of texts", choices.type_name());
  for (const auto& choice : choices) {
    if (!choice.is_string() || choice.get_ref<const std::string&>().empty())
      fail(where + ": choices", "texts that are not empty", choice.is_string() ? "an empty one" : choice.type_name());
    question.choices.push_back(choice.get<std::string>());
  }
  if (std::ranges::find(question.choices, question.answer) == question.choices.end())
    fail(where + ": answer", "one of the choices", "another text", "choices and answer start with the same space?");
  return question;
}

}  // namespace

size_t AnsweredQuestion::right_choice() const {
  return static_cast<size_t>(std::ranges::find(choices, answer) - choices.begin());
}

std::vector<AnsweredQuestion> parse_questions(const std::string& where, std::string_view text) {
  std::vector<AnsweredQuestion> questions;
  for (size_t start = 0, number = 1; start < text.size(); ++number) {
    const auto end = std::min(text.find('\n', start), text.size());
    const auto line = text.substr(start, end - start);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos)
      questions.push_back(parse_question(fmt::format("{}:{}", where, number), line));
    start = end + 1;
  }
  if (questions.empty()) fail(where, "one JSON object per line", "none");
  return questions;
}

std::vector<AnsweredQuestion> read_questions(const std::string& path) {
  return parse_questions(path, MemoryMap(path).text());
}

}  // namespace fwl
