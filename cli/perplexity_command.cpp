// `fwl perplexity`: measures how well a model predicts a text, by several methods on the same tokens.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/commands.h"
#include "cli/evaluation_input.h"
#include "cli/session_input.h"
#include "engine/products.h"
#include "evaluate/divided.h"
#include "support/error.h"
#include "support/interrupt.h"

namespace fwl {
namespace {

constexpr int64_t running_estimates = 64, rows_side_by_side = 24;
constexpr double largest_word_perplexity = 1e7;

struct Options {
  EvaluationInput input;
  std::vector<std::string> methods = {"static"};
  double step = 0;
  std::string save_nll;
  bool together = false;
  bool json = false;
};

void describe(Fields& fields, Options& options) {
  add_fields(fields, options.input);
  fields.add("method", options.methods,
             "one or several of static, fwl, blocks, test-time, bias-only, dynamic-sgd, dynamic-rms");
  fields.add("together", options.together,
             "run static and fwl (or blocks, if --method names it) side by side, and print their running perplexities; "
             "no times: the pass belongs to both");
  fields.add("step", options.step, "test-time, bias-only: the step size").range(0, 1e6);
  fields.add("save_nll", options.save_nll, "write the loss of every token to this file").writes_file();
  fields.add("json", options.json, "print the result as JSON");
}

// Prints "[1]6.2535,[2]7.0812,…" like llama-perplexity, with at most `running_estimates` entries.
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

// The method beside static in --together.
std::string adapting_method(const Options& options) {
  return std::ranges::find(options.methods, "blocks") != options.methods.end() ? "blocks" : "fwl";
}

// Prints perplexities without and with fast weights, since the last row and overall.
class SideBySide {
 public:
  SideBySide(Console& console, const std::string& method, int64_t total, bool is_shown)
      : console_(console), bar_(console.progress("read")), total_(total), is_shown_(is_shown) {
    if (is_shown_)
      console_.out() << fmt::format("{:>10}   {:<30}   {:<30}\n{:>10}   {:>9} {:>9} {:>10}   {:>9} {:>9} {:>10}\n", "",
                                    "perplexity since the last row", "overall", "tokens", "static", method, "",
                                    "static", method, "");
  }

  void show(const std::vector<NllSeries>& both) {
    const auto done = static_cast<int64_t>(both[0].nll.size());
    bar_({done, total_, "tokens", {}});
    const int64_t every = std::max<int64_t>(1, total_ / rows_side_by_side);
    if (done / every == shown_ / every && done < total_) return;
    if (is_shown_)
      console_.out() << fmt::format("{:>10}   {}   {}\n", done, perplexities(both, shown_), perplexities(both, 0))
                     << std::flush;
    shown_ = done;
  }

 private:
  static std::string perplexities(const std::vector<NllSeries>& both, int64_t start) {
    const auto mean = [&](const std::vector<float>& nll) {
      return std::accumulate(nll.begin() + start, nll.end(), 0.0) / static_cast<double>(nll.size() - start);
    };
    const double before = mean(both[0].nll), after = mean(both[1].nll);
    return fmt::format("{:>9.3f} {:>9.3f} {:>+8.1f} %", std::exp(before), std::exp(after),
                       100 * (std::exp(after - before) - 1));
  }

  Console& console_;
  ProgressReport bar_;
  int64_t total_;
  bool is_shown_;
  int64_t shown_ = 0;  // tokens up to the last row
};

// With many tokens per word, as with bytes, it is astronomical; bits per byte is the useful figure.
bool has_word_perplexity(const Summary& summary) {
  return summary.word_perplexity > 0 && summary.word_perplexity < largest_word_perplexity;
}

nlohmann::json known(double measured, bool is_known) {
  return is_known ? nlohmann::json(measured) : nlohmann::json();
}

// A loss is a float; more digits would only fill files.
std::vector<double> rounded(std::vector<double> losses) {
  for (auto& loss : losses) loss = std::round(loss * 1e6) / 1e6;
  return losses;
}

nlohmann::json to_json(const NllSeries& series, const Summary& summary) {
  const bool is_timed = series.seconds > 0;
  return {{"method", series.method},
          {"tokens", summary.tokens},
          {"nll", summary.mean},
          {"nll_error", summary.standard_error},
          {"perplexity", summary.perplexity},
          {"perplexity_error", summary.perplexity_error},
          {"word_perplexity", known(summary.word_perplexity, has_word_perplexity(summary))},
          {"bits_per_byte", summary.bits_per_byte},
          {"documents", summary.documents},
          {"macro_perplexity", summary.macro_perplexity},
          {"nll_by_block", rounded(block_means(series))},
          {"seconds", known(series.seconds, is_timed)},
          {"tokens_per_second", known(static_cast<double>(summary.tokens) / series.seconds, is_timed)},
          {"peak_bytes", known(series.peak_bytes, is_timed)},
          {"rollbacks", series.rollbacks}};
}

nlohmann::json to_json(const PairedDifference& difference, const std::string& against) {
  return {{"against", against},
          {"nll", difference.mean},
          {"low", difference.low},
          {"high", difference.high},
          {"perplexity_ratio", difference.perplexity_ratio}};
}

// Speed, time relative to the first method, memory. Methods that run in one pass have none of their own.
std::string cost_columns(const std::vector<NllSeries>& all, const NllSeries& series) {
  if (!(series.seconds > 0)) return fmt::format("{:>8} {:>9} {:>9}", "-", "-", "-");
  return fmt::format("{:>8.0f} {:>9.2f} {:>9}", static_cast<double>(series.nll.size()) / series.seconds,
                     series.seconds / all.front().seconds, format_amount(series.peak_bytes, "bytes"));
}

void print_table(Console& console, const std::vector<NllSeries>& all, const EvaluationData& data) {
  auto& out = console.out();
  const auto& tokens = data.tokens();
  out << fmt::format("context: {}\n", data.context_text());
  out << fmt::format("{:<12} {:>9} {:>9} {:>9} {:>18} {:>10} {:>9} {:>8} {:>9} {:>9} {:>20}\n", "method", "tokens",
                     "nll", "bits/byte", "perplexity", "per word", "macro", "tok/s", "x time", "memory",
                     "difference in nll");
  for (const auto& series : all) {
    const auto summary = summarize(series, tokens);
    std::string difference;
    if (&series != &all.front()) {
      const auto paired = compare(all.front(), series);
      difference = fmt::format("{:+.4f} ±{:.4f}", paired.mean, paired.high - paired.mean);
    }
    out << fmt::format("{:<12} {:>9} {:>9.4f} {:>9.4f} {:>10.4f} ±{:<6.3f} {:>10} {:>9.3f} {} {:>20}\n", series.method,
                       summary.tokens, summary.mean, summary.bits_per_byte, summary.perplexity,
                       summary.perplexity_error,
                       has_word_perplexity(summary) ? fmt::format("{:.3f}", summary.word_perplexity) : "-",
                       summary.macro_perplexity, cost_columns(all, series), difference);
  }
  out << "Final estimate: ";
  for (const auto& series : all) {
    const auto summary = summarize(series, tokens);
    const auto name = all.size() == 1 ? std::string() : " " + series.method;
    out << fmt::format("{}PPL{} = {:.4f} +/- {:.5f}", &series == &all.front() ? "" : ", ", name, summary.perplexity,
                       summary.perplexity_error);
  }
  out << '\n';
}

nlohmann::json to_json(const Options& options, const EvaluationData& data, const std::vector<NllSeries>& all) {
  const auto& tokens = data.tokens();
  nlohmann::json json = {{"model", options.input.model},       {"identity", data.identity()},
                         {"protocol", options.input.protocol}, {"context", data.context_tokens()},
                         {"products", products_in_use()},      {"data_hash", to_hex(tokens.ids_hash())}};
  if (!options.input.adapter.empty()) json["adapter"] = options.input.adapter;
  for (const auto& series : all) {
    json["methods"].push_back(to_json(series, summarize(series, tokens)));
    if (&series != &all.front())
      json["methods"].back()["difference"] = to_json(compare(all.front(), series), all.front().method);
  }
  return json;
}

std::vector<NllSeries> side_by_side(const EvaluationData& data, const Options& options, Console& console) {
  const MethodOptions method{adapting_method(options), 0, {}, options.input.blocks};
  const auto pieces = data.pieces(method);
  data.warn_of_length(pieces, console);
  int64_t total = 0;
  for (const auto& piece : pieces) total += piece.scored();
  SideBySide rows(console, method.name, total, !options.json);
  return score_divided(this_group(), pieces, method, {"static", method.name}, [&](const std::vector<Piece>& part) {
    return evaluate_together(data.model(), data.tokens(), part, method,
                             [&](const std::vector<NllSeries>& both) { rows.show(both); });
  });
}

std::vector<NllSeries> one_by_one(EvaluationData& data, const Options& options, Console& console) {
  std::vector<NllSeries> all;
  for (const auto& name : options.methods) {
    MethodOptions method{name, options.step, options.input.dynamic, options.input.blocks};
    method.dynamic.is_rms = name == "dynamic-rms";
    if (!options.json) console.out() << name << '\n';
    const auto pieces = data.pieces(method);
    if (name == "fwl") data.warn_of_length(pieces, console);
    first_rank_first(this_group(), [&] { data.statistics(method, console); });
    const auto score = [&](const std::vector<Piece>& part) {
      return std::vector{evaluate(data.model(), data.tokens(), part, method, data.statistics(method, console),
                                  running_estimate(console, name, !options.json))};
    };
    all.push_back(score_divided(this_group(), pieces, method, {name}, score).front());
  }
  return all;
}

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  for (const auto& name : options.methods) {
    check_method(name);
    if (options.together && name != "static" && name != adapting_method(options))
      throw UsageError(error_line("--together", "--method static fwl, or static blocks", name,
                                  "other methods read the text on their own"));
  }
  first_rank_first(this_group(), [&] { find_paths(options.input, console); });
  EvaluationData data(options.input, options.methods, console);
  const auto all = options.together ? side_by_side(data, options, console) : one_by_one(data, options, console);
  for (const auto& series : all) warn_of_rollbacks(series.rollbacks, console);
  constexpr auto broken_text = nlohmann::json::error_handler_t::replace;  // file names may be invalid UTF-8
  const auto result = to_json(options, data, all).dump(-1, ' ', false, broken_text);
  if (!options.save_nll.empty() && this_group().is_first())
    save_nll(options.save_nll, all, data.tokens(), {data.identity(), to_hex(data.tokens().ids_hash()), result});
  if (options.json)
    console.out() << result << '\n';
  else
    print_table(console, all, data);
  return 0;
}

}  // namespace

Command perplexity_command() {
  return make_command<Options>(
      "perplexity", "measure how well a model predicts a text, by one or several methods",
      "examples:\n"
      "  fwl perplexity --model runs/enwik8/best --tokens data/enwik8/test.tokens --method static fwl\n"
      "  fwl perplexity --model smollm2.gguf --adapter runs/books/model --text book.txt --method static fwl\n"
      "  fwl perplexity --model smollm2.gguf --adapter runs/books/model --text book.txt --together\n"
      "  fwl perplexity --model smollm2.gguf --text wiki.test.raw --protocol llama --context 512",
      describe, run);
}

}  // namespace fwl
