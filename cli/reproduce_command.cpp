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
#include "cli/published_record.h"
#include "cli/result_keeper.h"
#include "cli/table_plan.h"
#include "files/atomic_file.h"
#include "files/folder.h"
#include "files/memory_map.h"
#include "report/result_table.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/json.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> what;
  std::string scale = "here", plans = "config/tables", runs = "runs", results = "results", only;
  bool finished = false;
};

void describe(Fields& fields, Options& options) {
  fields.add("what", options.what, "tables").positional().required();
  fields.add("scale", options.scale, "the plan, a file of that name in --plans: here, quick, ablations, adapter");
  fields.add("only", options.only,
             "nothing but this table of the plan, or this run: TABLE-METHOD-SEED; TABLE-speed-SEED: the costs");
  fields.add("finished", options.finished,
             "run nothing: the tables of the rows that are finished, here or in --results");
  fields.add("plans", options.plans, "folder of the plans");
  fields.add("runs", options.runs, "folder for models, checkpoints and losses");
  fields.add("results", options.results, "folder for run records and results");
}

// One row of a table for one seed.
struct Outcome {
  int64_t seed = 0;
  MethodResult result;
  std::string nll_path;
  const std::string& method() const { return result.method; }
};

// The first method of a result of fwl perplexity, under the name that the table has for it.
MethodResult first_method(const nlohmann::json& result, const std::string& name) {
  auto method = parse_result(name, result.dump()).methods.front();
  method.method = name;
  return method;
}

class Reproduction {
 public:
  Reproduction(const Options& options, Console& console)
      : options_(options),
        console_(console),
        runs_(fs::path(options.runs) / options.scale),
        results_(fs::path(options.results) / options.scale),
        keeper_(runs_, results_, [this](const Arguments& arguments) { return printed_by(arguments); }) {
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
        if (!options_.finished)
          outcomes.push_back(outcome_of(plan, method, seed));
        else if (const auto result = keeper_.finished(name + ".json")) {
          note_other_settings(plan, method, seed);
          outcomes.push_back({seed, first_method(*result, method), nll_path(name)});
        }
      }
    const bool is_whole = options_.only.empty() || options_.only == plan.name;
    if (is_whole && !outcomes.empty()) write(plan, outcomes);
    if (options_.only == speed_name(plan)) costs(plan, shown_method(plan));
  }

  // How what was made again differs from what was published.
  void note_differences() const {
    for (const auto& line : keeper_.differences()) console_.note(line);
  }

 private:
  std::string trained_for(const TablePlan& plan, const std::string& method, int64_t seed) {
    if (!needs_training(plan, method)) return {};
    const auto name = run_name(plan.runs, training_of(method), seed);
    const auto folder = runs_ / name;
    const auto arguments = train_arguments(plan, training_of(method), seed, folder.string());
    const auto command_path = (folder / "command.txt").string();
    if (!fs::exists(folder / "model")) {
      printed_by(arguments);
      write_file_atomically(command_path, command_text(arguments) + "\n");
    } else if (fs::exists(command_path) && MemoryMap(command_path).text() != command_text(arguments) + "\n") {
      fail(folder.string(), "a run of the plan's command", "one of another (command.txt)",
           "the plan has changed: remove the folder to train it again");
    }
    write_file_atomically((results_ / (name + ".jsonl")).string(),
                          MemoryMap((folder / "record.jsonl").string()).text());
    return (folder / "best").string();
  }

  // A published row may be older than the plan.
  void note_other_settings(const TablePlan& plan, const std::string& method, int64_t seed) const {
    const auto name = run_name(plan.runs, method, seed);
    const auto record = (results_ / (name + ".jsonl")).string();
    if (training_of(method) != method || !fs::exists(record)) return;
    for (const auto& difference : differing_settings(record, train_arguments(plan, method, seed, {})))
      console_.note(fmt::format("{}: was made with {}", name, difference));
  }

  Outcome outcome_of(const TablePlan& plan, const std::string& method, int64_t seed) {
    const auto trained = trained_for(plan, method, seed);
    const auto name = run_name(plan.name, method, seed);
    const auto losses = nll_path(name);
    double value = 0;
    if (is_tuned(method)) {
      const auto tuned = keeper_.result_of(run_name(plan.runs, method, seed) + ".tune.json",
                                           tune_arguments(plan, method, trained), {{trained, plan.valid}, {}});
      value = tuned.value("best", 0.0);
    }
    const auto result = keeper_.result_of(name + ".json", test_arguments(plan, method, trained, value, losses),
                                          {{trained, plan.test}, {losses}});
    return {seed, first_method(result, method), losses};
  }

  std::string nll_path(const std::string& name) const { return (runs_ / (name + ".nll")).string(); }

  std::string printed_by(const Arguments& arguments) {
    console_.note("$ " + command_text(arguments));
    std::ostringstream printed;
    Console quiet(printed, console_.error_stream(), console_.is_terminal());
    const int code = run_command_line(arguments, quiet);
    if (code > 128) throw Interrupted(code - 128);
    if (code != 0) fail(command_text(arguments), "success", fmt::format("exit code {}", code));
    return printed.str();
  }

  // Of a row to static: of every token's losses where they are at hand, otherwise as the table has it, or of the means.
  static std::optional<LossDifference> difference(const std::vector<Outcome>& all, const Outcome& outcome,
                                                  const std::optional<ResultTable>& published) {
    const auto is_static = [&](const Outcome& other) {
      return other.method() == "static" && other.seed == outcome.seed;
    };
    const auto before = std::ranges::find_if(all, is_static);
    if (before == all.end() || outcome.method() == "static") return std::nullopt;
    if (fs::exists(before->nll_path) && fs::exists(outcome.nll_path))
      return paired_difference(before->nll_path, outcome.nll_path);
    const LossDifference of_means{outcome.result.nll - before->result.nll, {}, {}};
    if (!published) return of_means;
    for (const auto& row : published->rows)
      if (row.seed == outcome.seed && row.result.method == outcome.method() && row.against_static &&
          std::abs(row.against_static->mean - of_means.mean) < 1e-6)
        return row.against_static;
    return of_means;
  }

  static std::optional<ResultTable> published_table(const std::string& path) {
    if (!fs::exists(path)) return std::nullopt;
    return parse_result_table(path, parse_json(path, MemoryMap(path).text()));
  }

  // The table as Markdown, and as JSON for the page of all tables.
  void write(const TablePlan& plan, const std::vector<Outcome>& all) {
    ResultTable table{plan.name, "fwl reproduce tables --scale " + options_.scale, {}, shown_method(plan), {}};
    const auto path = results_ / plan.name;
    const auto published = published_table(path.string() + ".json");
    for (const auto& outcome : all)
      table.rows.push_back({outcome.seed, outcome.result, difference(all, outcome, published)});
    if (!table.cost_model.empty()) table.costs = costs(plan, table.cost_model);
    const auto text = to_markdown(table);
    write_file_atomically(path.string() + ".md", text);
    write_file_atomically(path.string() + ".json", to_json(table).dump(1) + "\n");
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
      const auto folder = runs_ / run_name(plan.runs, outcome.method(), outcome.seed);
      if (fs::exists(folder / "record.jsonl")) inputs.push_back(folder.string());
      inputs.push_back(outcome.nll_path);
      if (outcome.method() == "static") before = outcome.nll_path + ":static";
      if (outcome.method() == shown_method(plan)) after = outcome.nll_path + ":fwl";
    }
    if (before.empty() || after.empty()) return;
    const auto path = [&](const char* extension) { return (results_ / (plan.name + extension)).string(); };
    printed_by(report_arguments(plan, inputs, before, after, path(".html"), path(".svg")));
  }

  static std::string speed_name(const TablePlan& plan) { return run_name(plan.name, "speed", plan.seeds.front()); }

  // What the methods cost, in one run on the model with fast weights.
  std::vector<MethodResult> costs(const TablePlan& plan, const std::string& method) {
    const auto name = speed_name(plan);
    if (options_.finished) {
      const auto known = keeper_.finished(name + ".json");
      return known ? parse_result(name, known->dump()).methods : std::vector<MethodResult>{};
    }
    const auto trained = trained_for(plan, method, plan.seeds.front());
    const auto result = keeper_.result_of(name + ".json", speed_arguments(plan, trained), {{trained, plan.test}, {}});
    return parse_result(name, result.dump()).methods;
  }

  const Options& options_;
  Console& console_;
  fs::path runs_, results_;
  ResultKeeper keeper_;
};

// All tables that are in the folder of results: of every scale on one page, and a summary of each scale.
void write_overview(const fs::path& results) {
  std::vector<std::string> paths;
  for (const auto& scale : fs::directory_iterator(results)) {
    if (!scale.is_directory()) continue;
    for (const auto& file : fs::directory_iterator(scale.path()))
      if (file.path().extension() == ".json") paths.push_back(file.path().string());
  }
  std::ranges::sort(paths);
  const auto text_of = [](const fs::path& path) {
    return fs::exists(path) ? std::string(MemoryMap(path.string()).text()) : std::string();
  };
  std::vector<OverviewEntry> entries;
  for (const auto& path : paths) {
    const auto json = parse_json(path, MemoryMap(path).text());
    if (!json.contains("table")) continue;
    const auto page = fs::path(path).replace_extension(".html");
    entries.push_back({fs::path(path).parent_path().filename().string(), parse_result_table(path, json),
                       text_of(fs::path(path).replace_extension(".svg")),
                       fs::exists(page) ? fs::relative(page, results).generic_string() : std::string()});
  }
  if (!entries.empty()) write_file_atomically((results / "report.html").string(), make_overview(entries));
  std::map<std::string, std::vector<ResultTable>> scales;
  for (const auto& entry : entries) scales[entry.scale].push_back(entry.table);
  for (const auto& [scale, tables] : scales)
    write_file_atomically((results / scale / "summary.md").string(), summary_markdown(tables));
}

int run(Options& options, Console& console) {
  if (options.what != std::vector<std::string>{"tables"})
    throw UsageError(error_line("fwl reproduce", "tables", options.what.front()));
  const auto path = (fs::path(options.plans) / (options.scale + ".toml")).string();
  Reproduction reproduction(options, console);
  for (const auto& plan : load_table_plans(path)) reproduction.make(plan);
  reproduction.note_differences();
  write_overview(options.results);
  return 0;
}

}  // namespace

Command reproduce_command() {
  return make_command<Options>("reproduce", "the tables of results, from training to test",
                               "examples:\n"
                               "  fwl reproduce tables --scale here\n"
                               "  fwl reproduce tables --scale quick\n"
                               "  fwl reproduce tables --scale here --only enwik8-sparse-fwl-0",
                               describe, run);
}

}  // namespace fwl
