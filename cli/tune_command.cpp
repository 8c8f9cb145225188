// `fwl tune`: finds a method's best step size or learning rate on validation data, by a short search.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/evaluation_input.h"
#include "support/error.h"
#include "support/interrupt.h"

namespace fwl {
namespace {

struct Options {
  EvaluationInput input;
  std::string method = "test-time";
  double low = 1e-7, high = 1e-2;
  int64_t points = 6, rounds = 2;
  bool json = false;
};

void describe(Fields& fields, Options& options) {
  add_fields(fields, options.input);
  fields
      .add("method", options.method,
           "the step size of blocks, test-time or bias-only, or the learning rate of dynamic evaluation")
      .choices({"blocks", "test-time", "bias-only", "dynamic-sgd", "dynamic-rms"});
  fields.add("low", options.low, "lowest value of the first round").range(1e-30, 1e6);
  fields.add("high", options.high, "highest value of the first round").range(1e-30, 1e6);
  fields.add("points", options.points, "values per round, geometrically spaced").range(2, 1000);
  fields.add("rounds", options.rounds, "rounds of search; each later one searches around the best value so far")
      .range(1, 20);
  fields.add("json", options.json, "print the result as JSON");
}

struct Try {
  double value, nll;
};

class Search {
 public:
  Search(const Options& options, EvaluationData& data, Console& console)
      : options_(options), data_(data), console_(console) {}

  void run() {
    double low = options_.low, high = options_.high;
    for (int64_t round = 0; round < options_.rounds; ++round) {
      const double ratio = std::pow(high / low, 1 / static_cast<double>(options_.points - 1));
      for (int64_t point = 0; point < options_.points; ++point)
        try_value(low * std::pow(ratio, static_cast<double>(point)));
      const double middle = best().value;
      low = middle / ratio * std::pow(ratio, 1.0 / static_cast<double>(options_.points));
      high = middle * ratio / std::pow(ratio, 1.0 / static_cast<double>(options_.points));
    }
  }

  double loss_of(const MethodOptions& method) {
    const auto series = evaluate(data_.model(), data_.tokens(), data_.pieces(method), method,
                                 data_.statistics(method, console_), console_.progress(method.name));
    const double loss = summarize(series, data_.tokens()).mean;
    return std::isfinite(loss) ? loss : std::numeric_limits<double>::infinity();
  }

  const Try& best() const { return *std::ranges::min_element(tried_, {}, &Try::nll); }
  const std::vector<Try>& tried() const { return tried_; }

 private:
  void try_value(double value) {
    MethodOptions method{options_.method, value, options_.input.dynamic, options_.input.blocks};
    method.blocks.step = value;
    method.dynamic.is_rms = options_.method == "dynamic-rms";
    if (method.is_dynamic()) method.dynamic.eta = value;
    tried_.push_back({value, loss_of(method)});
    console_.note(fmt::format("{} {:.4g}: nll {:.5f}, perplexity {:.4f}", options_.method, value, tried_.back().nll,
                              std::exp(tried_.back().nll)));
  }

  const Options& options_;
  EvaluationData& data_;
  Console& console_;
  std::vector<Try> tried_;
};

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  if (options.low >= options.high) fail("--low", "less than --high", fmt::format("{}", options.low));
  find_paths(options.input, console);
  EvaluationData data(options.input, {options.method}, console);
  Search search(options, data, console);
  const double plain = search.loss_of({"static", 0, {}});
  search.run();
  auto tried = search.tried();
  std::ranges::sort(tried, {}, &Try::value);
  const auto best = search.best();
  if (options.json) {
    nlohmann::json json = {
        {"method", options.method}, {"context", data.context_tokens()}, {"static", plain}, {"best", best.value}};
    for (const auto& one : tried)
      json["tried"].push_back(
          {{"value", one.value}, {"nll", std::isfinite(one.nll) ? nlohmann::json(one.nll) : nlohmann::json()}});
    console.out() << json.dump() << '\n';
    return 0;
  }
  console.out() << fmt::format("context: {}\n", data.context_text());
  console.out() << fmt::format("{:>12} {:>10} {:>12} {:>9}\n{:>12} {:>10.5f} {:>12.4f}\n", options.method, "nll",
                               "perplexity", "%", "static", plain, std::exp(plain));
  for (const auto& one : tried)
    console.out() << fmt::format("{:>12.4g} {:>10.5f} {:>12.4f} {:>+9.2f}{}\n", one.value, one.nll, std::exp(one.nll),
                                 100 * (std::exp(one.nll - plain) - 1), one.value == best.value ? "  best" : "");
  return 0;
}

}  // namespace

Command tune_command() {
  return make_command<Options>(
      "tune", "find the best step size, or learning rate of dynamic evaluation, on validation data",
      "examples:\n"
      "  fwl tune --model runs/static/best --tokens data/enwik8/valid.tokens --max-tokens 100000 --method test-time\n"
      "  fwl tune --model runs/static/best --tokens data/enwik8/valid.tokens --method dynamic-sgd --low 1e-3 --high 1",
      describe, run);
}

}  // namespace fwl
