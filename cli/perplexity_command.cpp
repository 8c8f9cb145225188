// `fwl perplexity`: how well a model predicts a text, by several methods on the same tokens.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/evaluation_input.h"
#include "support/interrupt.h"

namespace fwl {
namespace {

constexpr int64_t running_estimates = 64;

struct Options {
  EvaluationInput input;
  std::vector<std::string> methods = {"static"};
  double step = 0;
  std::string save_nll;
  bool json = false;
};

void describe(Fields& fields, Options& options) {
  add_fields(fields, options.input);
  fields.add("method", options.methods,
             "one or several of static, fwl, test-time, bias-only, dynamic-sgd, dynamic-rms");
  fields.add("step", options.step, "test-time, bias-only: the step size").range(0, 1e6);
  fields.add("save_nll", options.save_nll, "write the loss of every token to this file");
  fields.add("json", options.json, "print the result as JSON");
}

// "[1]6.2535,[2]7.0812,…" as llama-perplexity prints it, at most so many of them.
ProgressReport running_estimate(Console& console, const std::string& method, bool is_shown) {
  auto bar = console.progress(method);
  return [&console, bar, is_shown](const ProgressEvent& event) {
    bar(event);
    const int64_t every = std::max<int64_t>(1, event.total / running_estimates);
    if (!is_shown || (event.done % every != 0 && event.done != event.total)) return;
    console.out() << fmt::format("[{}]{}{}", event.done, event.note, event.done == event.total ? "\n" : ",")
                  << std::flush;
  };
}

nlohmann::json to_json(const NllSeries& series, const Summary& summary) {
  return {{"method", series.method},
          {"tokens", summary.tokens},
          {"nll", summary.mean},
          {"nll_error", summary.standard_error},
          {"perplexity", summary.perplexity},
          {"perplexity_error", summary.perplexity_error},
          {"word_perplexity", summary.word_perplexity},
          {"bits_per_byte", summary.bits_per_byte},
          {"documents", summary.documents},
          {"macro_perplexity", summary.macro_perplexity},
          {"seconds", series.seconds},
          {"tokens_per_second", static_cast<double>(summary.tokens) / series.seconds},
          {"peak_bytes", series.peak_bytes}};
}

nlohmann::json to_json(const PairedDifference& difference, const std::string& against) {
  return {{"against", against},
          {"nll", difference.mean},
          {"low", difference.low},
          {"high", difference.high},
          {"perplexity_ratio", difference.perplexity_ratio}};
}

void print_table(Console& console, const std::vector<NllSeries>& all, const TokenView& tokens) {
  auto& out = console.out();
  out << fmt::format("{:<12} {:>9} {:>9} {:>18} {:>10} {:>9} {:>9} {:>8} {:>9} {:>9} {:>20}\n", "method", "tokens",
                     "nll", "perplexity", "per word", "bits/byte", "macro", "tok/s", "x time", "memory",
                     "difference in nll");
  for (const auto& series : all) {
    const auto summary = summarize(series, tokens);
    std::string difference;
    if (&series != &all.front()) {
      const auto paired = compare(all.front(), series);
      difference = fmt::format("{:+.4f} ±{:.4f}", paired.mean, paired.high - paired.mean);
    }
    out << fmt::format(
        "{:<12} {:>9} {:>9.4f} {:>10.4f} ±{:<6.3f} {:>10.3f} {:>9.4f} {:>9.3f} {:>8.0f} {:>9.2f} {:>9} "
        "{:>20}\n",
        series.method, summary.tokens, summary.mean, summary.perplexity, summary.perplexity_error,
        summary.word_perplexity, summary.bits_per_byte, summary.macro_perplexity,
        static_cast<double>(summary.tokens) / series.seconds, series.seconds / all.front().seconds,
        format_amount(series.peak_bytes, "bytes"), difference);
  }
  const auto summary = summarize(all.back(), tokens);
  out << fmt::format("Final estimate: PPL = {:.4f} +/- {:.5f}\n", summary.perplexity, summary.perplexity_error);
}

nlohmann::json to_json(const Options& options, const std::string& identity, const std::vector<NllSeries>& all,
                       const TokenView& tokens) {
  nlohmann::json json = {{"model", options.input.model},
                         {"identity", identity},
                         {"protocol", options.input.protocol},
                         {"data_hash", to_hex(tokens.ids_hash())}};
  if (!options.input.adapter.empty()) json["adapter"] = options.input.adapter;
  for (const auto& series : all) {
    json["methods"].push_back(to_json(series, summarize(series, tokens)));
    if (&series != &all.front())
      json["methods"].back()["difference"] = to_json(compare(all.front(), series), all.front().method);
  }
  return json;
}

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  for (const auto& name : options.methods) check_method(name);
  EvaluationData data(options.input, console);
  std::vector<NllSeries> all;
  for (const auto& name : options.methods) {
    MethodOptions method{name, options.step, options.input.dynamic};
    method.dynamic.is_rms = name == "dynamic-rms";
    if (!options.json) console.out() << name << '\n';
    all.push_back(evaluate(data.model(), data.tokens(), data.pieces(method), method, data.statistics(method, console),
                           running_estimate(console, name, !options.json)));
  }
  constexpr auto broken_text = nlohmann::json::error_handler_t::replace;  // names of files are any bytes
  const auto result = to_json(options, data.identity(), all, data.tokens()).dump(-1, ' ', false, broken_text);
  if (!options.save_nll.empty())
    save_nll(options.save_nll, all, data.tokens(), {data.identity(), to_hex(data.tokens().ids_hash()), result});
  if (options.json)
    console.out() << result << '\n';
  else
    print_table(console, all, data.tokens());
  return 0;
}

}  // namespace

Command perplexity_command() {
  return make_command<Options>(
      "perplexity", "how well a model predicts a text, by one method or several",
      "examples:\n"
      "  fwl perplexity --model runs/enwik8/best --tokens data/enwik8/test.tokens --method static fwl\n"
      "  fwl perplexity --model smollm2.gguf --adapter runs/books/model --text book.txt --method static fwl\n"
      "  fwl perplexity --model smollm2.gguf --text wiki.test.raw --protocol llama --context 512",
      describe, run);
}

}  // namespace fwl
