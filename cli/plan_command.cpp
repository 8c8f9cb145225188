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
#include "train/rank_plan.h"

namespace fwl {
namespace {

struct Options {
  TrainConfig train;
  EngineFlags engine;
  TextInput input;
  RankOptions ranks;
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
  fields.add("ranks", options.ranks.ranks, "processes that share the rows of a batch").range(1, 1 << 20);
  fields
      .add("device_peak", options.ranks.device_peak,
           "FLOP/s of each rank's device, e.g. 312e12; 0: ranks are processes like this one")
      .range(0, 1e18);
  fields.add("device_share", options.ranks.device_share, "share of that peak that training reaches").range(1e-3, 1);
  fields.add("bandwidth", options.ranks.bandwidth, "bytes per second between ranks").range(1, 1e15);
  fields.add("latency", options.ranks.latency, "seconds of one message between ranks").range(0, 10);
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

void print(Console& console, const RankPlan& plan, const Options& options) {
  const auto& ranks = options.ranks;
  const auto device = ranks.device_peak > 0
                          ? fmt::format("{}FLOP/s at {:.0f} %", amount(ranks.device_peak), 100 * ranks.device_share)
                          : std::string("like this process");
  console.out() << fmt::format(
      "ranks      {} x {}: step {:.3g} s ({:.3g} s to compute, {:.3g} s to exchange {} per rank), {} in all\n",
      ranks.ranks, device, plan.seconds_per_step, plan.seconds_computing, plan.seconds_exchanging,
      amount(plan.sent_bytes, "bytes"), format_duration(plan.seconds_in_all));
}

nlohmann::json to_json(const RankPlan& plan, const RankOptions& options) {
  return {{"ranks", options.ranks},
          {"sent_bytes", plan.sent_bytes},
          {"seconds_computing", plan.seconds_computing},
          {"seconds_exchanging", plan.seconds_exchanging},
          {"seconds_per_step", plan.seconds_per_step},
          {"seconds", plan.seconds_in_all}};
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
  const auto device = apply(options.engine);
  const auto plan = make_plan(options.train, vocabulary_size(options, console), options.patience, device,
                              console.progress("measure"));
  const bool has_ranks = options.ranks.ranks > 1 || options.ranks.device_peak > 0;
  const auto of_ranks = plan_ranks(plan, options.train, options.ranks);
  if (options.json) {
    auto json = to_json(plan);
    if (has_ranks) json["ranks"] = to_json(of_ranks, options.ranks);
    console.out() << json.dump() << '\n';
  } else {
    print(console, plan, options);
    if (has_ranks) print(console, of_ranks, options);
  }
  return 0;
}

}  // namespace

Command plan_command() {
  return make_command<Options>("plan", "estimate the cost of a training run: parameters, FLOPs, memory, time",
                               "examples:\n"
                               "  fwl plan --config config/enwik8-sparse.toml\n"
                               "  fwl plan --config config/wikitext-103-xl-large.toml --vocabulary-size 267735\n"
                               "  fwl plan --config config/wikitext-103-sparse.toml --vocabulary-size 267735 --ranks 8 "
                               "--device-peak 312e12 --bandwidth 2e11",
                               describe, run);
}

}  // namespace fwl
