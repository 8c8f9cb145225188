// `fwl fewshot`: answers questions after examples were read into the fast weights, into the context, or into both.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/model_input.h"
#include "evaluate/answers.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "tokenizer/prompt_conventions.h"

namespace fwl {
namespace {

struct Options {
  ModelInput input;
  std::string examples, questions;
  std::vector<std::string> examples_in = {"none", "context"};
  AnswerOptions answers;
  bool json = false;
};

void describe(Fields& fields, Options& options) {
  add_fields(fields, options.input);
  fields
      .add("questions", options.questions,
           "one JSON object per line: {\"prompt\": \"…\", \"answer\": \" yes\", \"choices\": [\" yes\", \" no\"]}")
      .required()
      .reads_file();
  fields.add("examples", options.examples, "likewise; without choices if you like").required().reads_file();
  fields.add("examples_in", options.examples_in,
             "one or several of none, context, weights and both; with none and context the fast weights are off");
  add_fields(fields, options.answers.few_shot);
  fields.add("separator", options.answers.separator, "text after every example");
  fields.add("by_length", options.answers.is_by_length,
             "compare the choices' likelihoods per byte, for choices of different lengths");
  fields.add("json", options.json, "print the result as JSON, with the choice for every question");
}

nlohmann::json to_json(const std::string& examples_in, const Answers& answers, const Answers& first) {
  const auto interval = share_interval(answers), difference = difference_interval(first, answers);
  return {{"examples_in", examples_in},
          {"right", answers.share()},
          {"low", interval.low},
          {"high", interval.high},
          {"difference", answers.share() - first.share()},
          {"difference_low", difference.low},
          {"difference_high", difference.high},
          {"examples_in_context", answers.examples_in_context},
          {"rollbacks", answers.rollbacks},
          {"learning_seconds", answers.learning_seconds},
          {"answering_seconds", answers.answering_seconds},
          {"chosen", answers.chosen},
          {"is_right", answers.is_right}};
}

void print_row(Console& console, const std::string& examples_in, const Answers& answers, const Answers& first) {
  const auto interval = share_interval(answers), difference = difference_interval(first, answers);
  const auto context = answers.examples_in_context;
  console.out() << fmt::format(
      "{:<12} {:>7.1f} % ({:>5.1f} to {:>5.1f}) {:>+8.1f} ({:>+6.1f} to {:>+6.1f}) {:>9} {:>9}\n", examples_in,
      100 * answers.share(), 100 * interval.low, 100 * interval.high, 100 * (answers.share() - first.share()),
      100 * difference.low, 100 * difference.high, context,
      format_duration(answers.learning_seconds + answers.answering_seconds));
}

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  const auto examples = read_questions(options.examples), questions = read_questions(options.questions);
  find_paths(options.input, console);
  const auto opened =
      with_blocks(open_with_vocabulary(options.input, WeightFormat::quantized, console), options.input.blocks);
  const auto& tokenizer = *opened.model->tokenizer();
  if (const auto begin = tokenizer.begin_token(); begin && read_prompt_conventions(options.input.model).adds_begin)
    options.answers.few_shot.begin = {*begin};
  if (!options.json)
    console.out() << fmt::format("{} examples, {} questions\n{:<12} {:>27} {:>27} {:>9} {:>9}\n", examples.size(),
                                 questions.size(), "examples in", "right (95 %)", "to the first row (95 %)",
                                 "in context", "time");
  std::vector<Answers> all;
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& place : options.examples_in) {
    options.answers.few_shot.examples_in = place;
    all.push_back(answer(*opened.model, tokenizer, examples, questions, options.answers, console.progress(place)));
    if (options.json)
      rows.push_back(to_json(place, all.back(), all.front()));
    else
      print_row(console, place, all.back(), all.front());
  }
  if (options.json)
    console.out() << nlohmann::json{{"model", options.input.model},
                                    {"adapter", options.input.adapter},
                                    {"examples", examples.size()},
                                    {"questions", questions.size()},
                                    {"rows", rows}}
                         .dump()
                  << '\n';
  return 0;
}

}  // namespace

Command fewshot_command() {
  return make_command<Options>(
      "fewshot", "answer questions after reading examples into the fast weights, the context or both",
      "example:\n"
      "  fwl fewshot --model smollm2 --blocks.at all --examples train.jsonl --questions test.jsonl \\\n"
      "    --examples-in none context weights both --passes 2",
      describe, run);
}

}  // namespace fwl
