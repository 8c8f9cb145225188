// `fwl plan`: estimates the cost of a training run before it starts.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/engine_flags.h"
#include "cli/model_name.h"
#include "cli/text_input.h"
#include "data/token_file.h"
#include "support/error.h"
#include "train/plan.h"

namespace fwl {
namespace {

struct Options {
  TrainConfig train;
  EngineFlags engine;
  TextInput input;
  int64_t vocabulary_size = 0;
  double patience = 60;
  bool json = false;
};

void describe(Fields& fields, Options& options) {
  fields
      .add("vocabulary_size", options.vocabulary_size,
           "vocabulary size; 0: that of data.tokenizer, or of the token file data.train")
      .range(0, 1 << 30);
  fields.add("patience", options.patience, "approximate seconds to measure for; longer batches are measured in part")
      .range(1, 1e6);
  fields.add("json", options.json, "print the result as JSON");
  add_fields(fields, options.input);
  add_fields(fields, options.engine);
  add_fields(fields, options.train);
}

int64_t vocabulary_size(const Options& options, Console& console) {
  if (options.vocabulary_size > 0) return options.vocabulary_size;
  const auto& tokenizer = options.train.data.tokenizer;
  if (!tokenizer.empty() || !options.input.text.empty())
    return open_tokenizer(tokenizer.empty() ? "bytes" : find_tokenizer(tokenizer, console))->vocabulary_size();
  const auto& path = options.train.data.train;
  if (path.empty() || !std::filesystem::exists(path))
    fail("--vocabulary-size", "a vocabulary size", "0 and no token file",
         fmt::format("data.train is '{}': make it with fwl tokenize, or set the size", path));
  return TokenFile(path).vocabulary_size();
}

std::string amount(double number, const char* unit = "") {
  return format_amount(number, unit);
}

void print(Console& console, const Plan& plan, const Options& options) {
  auto& out = console.out();
  out << fmt::format("{:<10} {:>12} {:>14} {:>14} {:>14}\n", "part", "parameters", "score FLOPs", "adapt FLOPs",
                     "train FLOPs");
  auto parts = plan.parts;
  parts.push_back(total(plan.parts));
  for (const auto& part : parts)
    out << fmt::format("{:<10} {:>12} {:>14} {:>14} {:>14}\n", part.part, amount(static_cast<double>(part.parameters)),
                       amount(part.scoring_flops), amount(part.adapting_flops), amount(part.training_flops));
  const auto& memory = plan.memory;
  out << fmt::format("\nmemory     {} = weights {} + gradients {} + moments {} + activations {}\n",
                     amount(memory.total(), "bytes"), amount(memory.weights, "bytes"),
                     amount(memory.gradients, "bytes"), amount(memory.moments, "bytes"),
                     amount(memory.activations, "bytes"));
  const auto tokens = static_cast<double>(plan.tokens_per_step);
  const double rate = tokens / plan.seconds_per_step;
  out << fmt::format("measured   {} x {} of {} x {} tokens; best matrix product {:.0f} GFLOP/s\n", plan.measured_rows,
                     plan.measured_tokens, options.train.data.rows, options.train.data.segment_tokens,
                     plan.peak_flops / 1e9)
      << fmt::format(
             "step       {:.3g} s ({:.3g} s for each batch, {:.3g} s for the update), {} tokens, {:.0f} tok/s, "
             "{:.0f} % of peak\n",
             plan.seconds_per_step, plan.seconds_per_batch, plan.seconds_per_update, plan.tokens_per_step, rate,
             100 * rate * total(plan.parts).training_flops / plan.peak_flops)
      << fmt::format(
             "run        {} steps, {} tokens, {} PFLOPs: {} here\n", options.train.run.steps,
             amount(tokens * static_cast<double>(options.train.run.steps)),
             amount(total(plan.parts).training_flops * tokens * static_cast<double>(options.train.run.steps) / 1e15),
             format_duration(plan.seconds_in_all));
}

nlohmann::json to_json(const Plan& plan) {
  nlohmann::json json = {{"tokens_per_step", plan.tokens_per_step},
                         {"measured_rows", plan.measured_rows},
                         {"measured_tokens", plan.measured_tokens},
                         {"seconds_per_step", plan.seconds_per_step},
                         {"seconds_per_batch", plan.seconds_per_batch},
                         {"seconds_per_update", plan.seconds_per_update},
                         {"seconds", plan.seconds_in_all},
                         {"peak_flops", plan.peak_flops},
                         {"memory",
                          {{"weights", plan.memory.weights},
                           {"gradients", plan.memory.gradients},
                           {"moments", plan.memory.moments},
                           {"activations", plan.memory.activations}}}};
  for (const auto& part : plan.parts)
    json["parts"].push_back({{"part", part.part},
                             {"parameters", part.parameters},
                             {"scoring_flops", part.scoring_flops},
                             {"adapting_flops", part.adapting_flops},
                             {"training_flops", part.training_flops}});
  return json;
}

int run(Options& options, Console& console) {
  apply(options.engine);
  const auto plan =
      make_plan(options.train, vocabulary_size(options, console), options.patience, console.progress("measure"));
  if (options.json)
    console.out() << to_json(plan).dump() << '\n';
  else
    print(console, plan, options);
  return 0;
}

}  // namespace

Command plan_command() {
  return make_command<Options>("plan", "estimate the cost of a training run: parameters, FLOPs, memory, time",
                               "examples:\n"
                               "  fwl plan --config config/enwik8-sparse.toml\n"
                               "  fwl plan --config config/wikitext-103-xl-large.toml --vocabulary-size 267735",
                               describe, run);
}

}  // namespace fwl
