// `fwl reproduce`: the tables of results, from training to test, as ordinary commands that are shown and can be
// resumed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "cli/commands.h"
#include "cli/table_plan.h"
#include "evaluate/analysis.h"
#include "files/atomic_file.h"
#include "files/folder.h"
#include "files/memory_map.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/json.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> what;
  std::string scale = "here", plans = "config/tables", runs = "runs", results = "results", only;
};

void describe(Fields& fields, Options& options) {
  fields.add("what", options.what, "tables").positional().required();
  fields.add("scale", options.scale, "the plan, a file of that name in --plans: quick, here");
  fields.add("only", options.only, "nothing but this table of the plan, or this run: TABLE-METHOD-SEED");
  fields.add("plans", options.plans, "folder of the plans");
  fields.add("runs", options.runs, "folder for models, checkpoints and losses");
  fields.add("results", options.results, "folder for run records and results");
}

// One row of a table for one seed.
struct Outcome {
  std::string method;
  int64_t seed = 0;
  nlohmann::json result;  // of fwl perplexity
  std::string nll_path;
  double nll() const { return result["methods"][0]["nll"].get<double>(); }
};

class Reproduction {
 public:
  Reproduction(const Options& options, Console& console)
      : options_(options),
        console_(console),
        runs_(fs::path(options.runs) / options.scale),
        results_(fs::path(options.results) / options.scale) {
    make_folder(runs_.string());
    make_folder(results_.string());
  }

  void make(const TablePlan& plan) {
    std::vector<Outcome> outcomes;
    for (const auto seed : plan.seeds)
      for (const auto& method : plan.methods) {
        const auto name = run_name(plan.name, method, seed);
        if (seed != plan.seeds.front() && !has_seeds(method)) continue;
        if (!options_.only.empty() && options_.only != plan.name && options_.only != name) continue;
        outcomes.push_back(outcome_of(plan, method, seed));
      }
    const bool is_whole = options_.only.empty() || options_.only == plan.name;
    if (is_whole) write(plan, outcomes);
  }

 private:
  std::string trained_for(const TablePlan& plan, const std::string& method, int64_t seed) {
    if (!needs_training(plan, method)) return {};
    const auto name = run_name(plan.runs, training_of(method), seed);
    const auto folder = runs_ / name;
    if (!fs::exists(folder / "model")) printed_by(train_arguments(plan, training_of(method), seed, folder.string()));
    write_file_atomically((results_ / (name + ".jsonl")).string(),
                          MemoryMap((folder / "record.jsonl").string()).text());
    return (folder / "best").string();
  }

  Outcome outcome_of(const TablePlan& plan, const std::string& method, int64_t seed) {
    const auto trained = trained_for(plan, method, seed);
    const auto name = run_name(plan.name, method, seed);
    Outcome outcome{method, seed, {}, (runs_ / (name + ".nll")).string()};
    double value = 0;
    if (is_tuned(method))
      value = kept(name + ".tune.json", tune_arguments(plan, method, trained))["best"].get<double>();
    outcome.result = kept(name + ".json", test_arguments(plan, method, trained, value, outcome.nll_path));
    return outcome;
  }

  // The result of a command, from its file if it was run before.
  nlohmann::json kept(const std::string& name, const Arguments& arguments) {
    const auto path = (results_ / name).string();
    if (fs::exists(path)) {
      const auto known = parse_json(path, MemoryMap(path).text());
      if (known.value("command", "") == command_text(arguments)) return known["result"];
    }
    const nlohmann::json made = {{"command", command_text(arguments)},
                                 {"result", parse_json(name, printed_by(arguments))}};
    write_file_atomically(path, made.dump(1) + "\n");
    return made["result"];
  }

  std::string printed_by(const Arguments& arguments) {
    console_.note("$ " + command_text(arguments));
    std::ostringstream printed;
    Console quiet(printed, console_.error_stream(), console_.is_terminal());
    const int code = run_command_line(arguments, quiet);
    if (code > 128) throw Interrupted(code - 128);
    if (code != 0) fail(command_text(arguments), "success", fmt::format("exit code {}", code));
    return printed.str();
  }

  static std::optional<PairedDifference> difference(const std::vector<Outcome>& all, const Outcome& outcome) {
    for (const auto& before : all) {
      if (before.method != "static" || before.seed != outcome.seed || outcome.method == "static") continue;
      if (!fs::exists(before.nll_path) || !fs::exists(outcome.nll_path)) continue;
      const auto pair = load_pair(before.nll_path, outcome.nll_path);
      NllSeries a, b;
      a.targets = b.targets = pair.targets;
      a.nll = pair.before;
      b.nll = pair.after;
      return compare(a, b);
    }
    return std::nullopt;
  }

  // The table as Markdown, and as JSON for the report.
  void write(const TablePlan& plan, const std::vector<Outcome>& all) {
    std::string text = fmt::format(
        "## {}\n\n| method | seed | loss (nats) | bits per byte | perplexity | against static "
        "|\n|---|---:|---:|---:|---:|---:|\n",
        plan.name);
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& outcome : all) {
      const auto& summary = outcome.result["methods"][0];
      const auto paired = difference(all, outcome);
      const auto change = paired ? fmt::format("{:+.1f} % ± {:.1f}", 100 * (paired->perplexity_ratio - 1),
                                               100 * (std::exp(paired->high - paired->mean) - 1))
                                 : "";
      text += fmt::format("| {} | {} | {:.4f} | {:.4f} | {:.3f} | {} |\n", outcome.method, outcome.seed, outcome.nll(),
                          summary["bits_per_byte"].get<double>(), summary["perplexity"].get<double>(), change);
      rows.push_back({{"method", outcome.method}, {"seed", outcome.seed}, {"summary", summary}});
      if (paired)
        rows.back()["against_static"] = {{"nll", paired->mean},
                                         {"low", paired->low},
                                         {"high", paired->high},
                                         {"perplexity_ratio", paired->perplexity_ratio}};
    }
    text += spread(all) + speed(plan);
    const auto path = results_ / (plan.name + ".md");
    write_file_atomically(path.string(), text);
    write_file_atomically((results_ / (plan.name + ".json")).string(), rows.dump(1) + "\n");
    console_.out() << text << std::flush;
    report(plan, all);
  }

  // The method with fast weights that is shown beside static: gradients at the boundary where they are in the table.
  static std::string shown_method(const TablePlan& plan) {
    for (const char* method : {"boundary", "fwl"})
      if (std::ranges::find(plan.methods, method) != plan.methods.end()) return method;
    return {};
  }

  void report(const TablePlan& plan, const std::vector<Outcome>& all) {
    std::vector<std::string> inputs;
    std::string before, after;
    for (const auto& outcome : all) {
      if (outcome.seed != plan.seeds.front() || !fs::exists(outcome.nll_path)) continue;
      const auto folder = runs_ / run_name(plan.runs, outcome.method, outcome.seed);
      if (fs::exists(folder / "record.jsonl")) inputs.push_back(folder.string());
      inputs.push_back(outcome.nll_path);
      if (outcome.method == "static") before = outcome.nll_path + ":static";
      if (outcome.method == shown_method(plan)) after = outcome.nll_path + ":fwl";
    }
    if (before.empty() || after.empty()) return;
    const auto path = [&](const char* extension) { return (results_ / (plan.name + extension)).string(); };
    printed_by(report_arguments(plan, inputs, before, after, path(".html"), path(".svg")));
  }

  // Mean and standard deviation over the seeds, where there are several.
  static std::string spread(const std::vector<Outcome>& all) {
    std::map<std::string, std::vector<double>> losses;
    for (const auto& outcome : all) losses[outcome.method].push_back(outcome.nll());
    std::string text;
    for (const auto& [method, values] : losses) {
      if (values.size() < 2) continue;
      double mean = 0, squares = 0;
      for (const double value : values) mean += value / static_cast<double>(values.size());
      for (const double value : values) squares += (value - mean) * (value - mean);
      text += fmt::format("\n{}: {} seeds, {:.4f} ± {:.4f} nats (standard deviation)\n", method, values.size(), mean,
                          std::sqrt(squares / static_cast<double>(values.size() - 1)));
    }
    return text;
  }

  // What the methods cost, in one run on the model with fast weights.
  std::string speed(const TablePlan& plan) {
    const auto method = shown_method(plan);
    if (method.empty()) return {};
    const auto trained = trained_for(plan, method, plan.seeds.front());
    const auto result =
        kept(run_name(plan.name, "speed", plan.seeds.front()) + ".json", speed_arguments(plan, trained));
    auto text =
        fmt::format("\nCost, on the {} model:\n\n| | tok/s | time | peak memory |\n|---|---:|---:|---:|\n", method);
    const auto& rows = result["methods"];
    for (const auto& row : rows)
      text += fmt::format("| {} | {:.0f} | {:.2f}x | {} |\n", row["method"].get<std::string>(),
                          row["tokens_per_second"].get<double>(),
                          row["seconds"].get<double>() / rows.front()["seconds"].get<double>(),
                          format_amount(row["peak_bytes"].get<double>(), "bytes"));
    return text;
  }

  const Options& options_;
  Console& console_;
  fs::path runs_, results_;
};

int run(Options& options, Console& console) {
  if (options.what != std::vector<std::string>{"tables"})
    throw UsageError(error_line("fwl reproduce", "tables", options.what.front()));
  const auto path = (fs::path(options.plans) / (options.scale + ".toml")).string();
  Reproduction reproduction(options, console);
  for (const auto& plan : load_table_plans(path)) reproduction.make(plan);
  return 0;
}

}  // namespace

Command reproduce_command() {
  return make_command<Options>("reproduce", "the tables of results, from training to test",
                               "examples:\n"
                               "  fwl reproduce tables --scale here\n"
                               "  fwl reproduce tables --scale quick --only enwik8-sparse-fwl-0",
                               describe, run);
}

}  // namespace fwl
