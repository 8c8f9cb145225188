// What evaluations need of a language model: methods, windows, batches of sessions, and few-shot answers.
#include <torch/extension.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "bindings.h"
#include "cli/model_name.h"
#include "evaluate/answers.h"
#include "evaluate/evaluation.h"
#include "model/session_check.h"
#include "support/error.h"
#include "support/fields.h"
#include "tokenizer/prompt_conventions.h"

namespace fwl {
namespace {

namespace py = pybind11;
using ReleaseGil = py::call_guard<py::gil_scoped_release>;
using py::arg;

std::shared_ptr<LanguageModel> with_method(const LanguageModel& model, const std::string& name,
                                           const py::object& blocks) {
  const auto& known = method_names();
  MethodOptions method{name, 0, {}};
  if (std::ranges::find(known, name) == known.end() || method.is_dynamic() || name == "test-time" ||
      name == "bias-only")
    fail("method", "static, fwl or blocks", "'" + name + "'");
  if (!blocks.is_none()) method.blocks = block_config(blocks);
  return std::make_shared<LanguageModel>(model_for(model, method));
}

std::vector<at::Tensor> read_together(const LanguageModel& model, const std::vector<at::Tensor>& tokens,
                                      const std::vector<Session*>& sessions, const std::string& adapt) {
  if (tokens.size() != sessions.size())
    fail("read_together", std::to_string(sessions.size()) + " texts for as many sessions",
         std::to_string(tokens.size()));
  const at::NoGradGuard no_grad;
  std::vector<SessionTokens> texts;
  for (size_t index = 0; index < tokens.size(); ++index) texts.push_back({tokens[index], sessions[index]});
  std::vector<at::Tensor> losses;
  for (auto& read : model.read(texts, {adaptation_from_name(adapt)})) losses.push_back(std::move(read.adapted));
  return losses;
}

at::Tensor read_window(const LanguageModel& model, const at::Tensor& tokens, Session& session, int64_t first_scored,
                       const std::string& adapt) {
  const at::NoGradGuard no_grad;
  const int64_t last = tokens.size(1) - 1;
  return model
      .read_targets(tokens.narrow(1, 0, last), tokens.slice(1, 1), session, {adaptation_from_name(adapt)},
                    first_scored - 1)
      .adapted;
}

std::vector<AnsweredQuestion> questions_of(const std::string& where, const py::object& questions) {
  std::string lines;
  const auto dumps = py::module_::import("json").attr("dumps");
  for (const auto& question : questions) lines += dumps(question).cast<std::string>() + "\n";
  return parse_questions(where, lines);
}

py::dict few_shot(const LanguageModel& model, const Tokenizer& tokenizer, const py::object& examples,
                  const py::object& questions, const std::string& examples_in, int64_t passes,
                  const std::string& learn_from, bool apart, int64_t context, const std::string& separator,
                  bool by_length, bool adds_begin) {
  AnswerOptions options{{{}, examples_in, passes, learn_from, apart, context}, separator, by_length};
  Fields fields;
  add_fields(fields, options.few_shot);
  fields.check("few_shot");
  if (const auto begin = tokenizer.begin_token(); begin && adds_begin) options.few_shot.begin = {*begin};
  const auto given = questions_of("examples", examples), asked = questions_of("questions", questions);
  Answers answers;
  {
    const py::gil_scoped_release others_may_run;
    answers = answer(model, tokenizer, given, asked, options);
  }
  const auto interval = share_interval(answers);
  py::dict result;
  result["right"] = answers.share();
  result["low"] = interval.low;
  result["high"] = interval.high;
  result["chosen"] = answers.chosen;
  result["is_right"] = answers.is_right;
  result["examples_in_context"] = answers.examples_in_context;
  result["rollbacks"] = answers.rollbacks;
  return result;
}

}  // namespace

void bind_evaluation(py::module_& module) {
  py::class_<PromptConventions>(module, "PromptConventions")
      .def_readonly("adds_begin", &PromptConventions::adds_begin)
      .def_readonly("chat_template", &PromptConventions::chat_template)
      .def_readonly("begin_text", &PromptConventions::begin_text)
      .def_readonly("end_text", &PromptConventions::end_text);
  module.def("prompt_conventions", &read_prompt_conventions, arg("path"),
             "Whether a model's texts start with a begin token, and its chat template.");
  const auto found = [](auto find) {
    return [find](const std::string& name) {
      Console console(std::cout, std::cerr, false);
      console.be_quiet();
      return find(name, console);
    };
  };
  module.def(
      "find_model", found([](const std::string& name, Console& console) { return find_model("model", name, console); }),
      arg("name"), ReleaseGil(), "The path of a model: of a run's best one, or of a known name, which is downloaded.");
  module.def("find_adapter", found(&find_adapter), arg("name"), ReleaseGil(),
             "The path of an adapter: of a run's best one, or of one that ships with fwl.");
  module.def(
      "with_method", &with_method, arg("model"), arg("method"), arg("blocks") = py::none(),
      "The same weights with the fast weights of a method of fwl perplexity: static, fwl or blocks. blocks: of a "
      "model that has none of its own, e.g. {'at': 'all'}.");
  module.def("read_together", &read_together, arg("model"), arg("tokens"), arg("sessions"), arg("adapt") = "write",
             ReleaseGil(), "Reads tokens (1,T) for each of several sessions in one pass, and gives their losses.");
  module.def(
      "read_window", &read_window, arg("model"), arg("tokens"), arg("session"), arg("first_scored") = 1,
      arg("adapt") = "write", ReleaseGil(),
      "Reads tokens (1,T) and gives the losses of those from first_scored on; earlier ones are context, which does "
      "not move the fast weights.");
  module.def(
      "forget_context",
      [](const LanguageModel& model, Session& session) {
        const at::NoGradGuard no_grad;
        model.forget_context(session);
      },
      arg("model"), arg("session"), ReleaseGil(), "Forgets the text but not what the fast weights have learned.");
  module.def(
      "few_shot", &few_shot, arg("model"), arg("tokenizer"), arg("examples"), arg("questions"), py::kw_only(),
      arg("examples_in") = "weights", arg("passes") = 1, arg("learn_from") = "all", arg("apart") = false,
      arg("context") = 0, arg("separator") = "\n\n", arg("by_length") = false, arg("adds_begin") = false,
      "Answers questions after reading examples: dicts with prompt, answer and (questions) choices. examples_in: "
      "none, context, weights or both. Returns the share of right answers, its 95 % interval and the choices.");
}

}  // namespace fwl
