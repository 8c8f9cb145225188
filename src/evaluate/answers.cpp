#include "evaluate/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "support/error.h"

namespace fwl {
namespace {

constexpr double two_sided_95 = 1.96;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The tokens of a prompt and of what follows it, encoded together and cut where the prompt's own encoding ends.
Example encode(const Tokenizer& tokenizer, const std::string& prompt, const std::string& answer) {
  const auto all = tokenizer.encode(prompt + answer);
  const auto prompt_tokens = std::min(tokenizer.encode(prompt).size(), all.size());
  const auto cut = all.begin() + static_cast<std::ptrdiff_t>(prompt_tokens);
  return {{all.begin(), cut}, {cut, all.end()}};
}

std::vector<Example> encode(const Tokenizer& tokenizer, const std::vector<AnsweredQuestion>& examples,
                            const std::string& separator) {
  std::vector<Example> encoded;
  for (const auto& example : examples) encoded.push_back(encode(tokenizer, example.prompt, example.answer + separator));
  return encoded;
}

Question encode(const Tokenizer& tokenizer, const AnsweredQuestion& question) {
  if (question.choices.empty()) fail("questions", "choices in every line", "a line without");
  Question encoded;
  for (const auto& choice : question.choices) {
    auto [prompt, answer] = encode(tokenizer, question.prompt, choice);
    encoded.prompt = std::move(prompt);
    encoded.choices.push_back(std::move(answer));
  }
  return encoded;
}

size_t tokens_of(const Question& question) {
  size_t longest = 0;
  for (const auto& choice : question.choices) longest = std::max(longest, choice.size());
  return question.prompt.size() + longest;
}

size_t choose(FewShot& few_shot, const Question& encoded, const AnsweredQuestion& question, bool is_by_length) {
  if (!is_by_length) return few_shot.most_likely(encoded);
  auto nll = few_shot.nll(encoded);
  for (size_t index = 0; index < nll.size(); ++index) nll[index] /= static_cast<double>(question.choices[index].size());
  return static_cast<size_t>(std::ranges::min_element(nll) - nll.begin());
}

}  // namespace

double Answers::share() const {
  return static_cast<double>(std::ranges::count(is_right, true)) / static_cast<double>(is_right.size());
}

Answers answer(const LanguageModel& model, const Tokenizer& tokenizer, const std::vector<AnsweredQuestion>& examples,
               const std::vector<AnsweredQuestion>& questions, const AnswerOptions& options,
               const ProgressReport& progress) {
  std::vector<Question> encoded;
  size_t longest = 0;
  for (const auto& question : questions) {
    encoded.push_back(encode(tokenizer, question));
    longest = std::max(longest, tokens_of(encoded.back()));
  }
  Answers answers;
  const auto start = std::chrono::steady_clock::now();
  FewShot few_shot(model, encode(tokenizer, examples, options.separator), options.few_shot,
                   static_cast<int64_t>(longest));
  answers.learning_seconds = seconds_since(start);
  answers.examples_in_context = few_shot.examples_in_context();
  answers.rollbacks = few_shot.rollbacks();
  for (size_t index = 0; index < questions.size(); ++index) {
    answers.chosen.push_back(choose(few_shot, encoded[index], questions[index], options.is_by_length));
    answers.is_right.push_back(questions[index].choices[answers.chosen.back()] == questions[index].answer);
    if (progress)
      progress({static_cast<int64_t>(index) + 1, static_cast<int64_t>(questions.size()), "questions",
                fmt::format("{:.1f} % right", 100 * answers.share())});
  }
  answers.answering_seconds = seconds_since(start) - answers.learning_seconds;
  return answers;
}

Interval share_interval(const Answers& answers) {
  const auto count = static_cast<double>(answers.is_right.size());
  const double share = answers.share(), square = two_sided_95 * two_sided_95;
  const double middle = (share + square / (2 * count)) / (1 + square / count);
  const double half =
      two_sided_95 / (1 + square / count) * std::sqrt(share * (1 - share) / count + square / (4 * count * count));
  return {middle - half, middle + half};
}

Interval difference_interval(const Answers& a, const Answers& b) {
  const auto count = static_cast<double>(a.is_right.size());
  const double mean = b.share() - a.share();
  double squares = 0;
  for (size_t index = 0; index < a.is_right.size(); ++index)
    squares += std::pow(static_cast<double>(b.is_right[index]) - static_cast<double>(a.is_right[index]) - mean, 2);
  const double half = count > 1 ? two_sided_95 * std::sqrt(squares / (count - 1) / count) : 1;
  return {mean - half, mean + half};
}

}  // namespace fwl
