// Question files: what is read, and what is said of lines that are wrong.
#include "data/question_file.h"

#include <gtest/gtest.h>

#include "support/message_of.h"

namespace fwl {
namespace {

std::string error_of(const std::string& text) {
  return message_of([&] { parse_questions("q.jsonl", text); });
}

TEST(QuestionFile, LinesBecomeQuestionsAndEmptyLinesAreSkipped) {
  const auto questions = parse_questions("q",
                                         "{\"prompt\": \"a\", \"answer\": \" y\", \"choices\": [\" x\", \" "
                                         "y\"]}\r\n\n{\"prompt\": \"b\", \"answer\": \"z\"}");
  ASSERT_EQ(questions.size(), 2u);
  EXPECT_EQ(questions[0].right_choice(), 1u);
  EXPECT_EQ(questions[1].prompt, "b");
  EXPECT_TRUE(questions[1].choices.empty());
}

TEST(QuestionFile, WrongLinesAreNamedByTheirNumber) {
  EXPECT_EQ(error_of(""), "q.jsonl: expected one JSON object per line, got none");
  EXPECT_EQ(error_of("\n[1]"), "q.jsonl:2: expected a JSON object, got array");
  EXPECT_EQ(error_of(R"({"prompt": "a"})"), "q.jsonl:1: expected the field answer, got none");
  EXPECT_EQ(error_of(R"({"prompt": "", "answer": "b"})"), "q.jsonl:1: prompt: expected a text, got an empty one");
  EXPECT_EQ(error_of(R"({"prompt": "a", "answer": "b", "choices": "b"})"),
            "q.jsonl:1: choices: expected an array of texts, got string");
  EXPECT_EQ(error_of(R"({"prompt": "a", "answer": "b", "choices": ["b", 1]})"),
            "q.jsonl:1: choices: expected texts that are not empty, got number");
  EXPECT_EQ(error_of(R"({"prompt": "a", "answer": "b", "choices": [" b"]})"),
            "q.jsonl:1: answer: expected one of the choices, got another text; choices and answer start with the same "
            "space?");
}

}  // namespace
}  // namespace fwl
