// `fwl reproduce`: makes the tables of results, from training to test, by ordinary commands that it prints and can
// resume.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "cli/commands.h"
#include "reproduce/overview.h"
#include "reproduce/reproduction.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/near_name.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> what;
  std::string plans = "config/tables";
  ReproductionOptions reproduction;
};

void describe(Fields& fields, Options& options) {
  auto& reproduction = options.reproduction;
  fields.add("what", options.what, "tables").positional().required();
  fields.add("scale", reproduction.scale, "name of the plan, a file in --plans: here, quick, ablations, adapter");
  fields.add("only", reproduction.only,
             "only this table of the plan, or this run: TABLE-METHOD-SEED, or TABLE-speed-SEED for the costs");
  fields.add("finished", reproduction.finished,
             "run nothing; make the tables from the runs that are finished, here or in --results");
  fields.add("plans", options.plans, "folder of plans");
  fields.add("runs", reproduction.runs, "folder for models, checkpoints and losses");
  fields.add("results", reproduction.results, "folder for run records and results");
}

// Prints a command, runs it in this process and returns its output.
std::string output_of(const Arguments& arguments, Console& console) {
  console.note("$ " + command_text(arguments));
  std::ostringstream printed;
  Console quiet(printed, console.error_stream(), console.is_terminal());
  const int code = run_command_line(arguments, quiet);
  if (code > 128) throw Interrupted(code - 128);
  if (code != 0) fail(command_text(arguments), "success", fmt::format("exit code {}", code));
  return printed.str();
}

// The plans are in the project's folder; the command may have been run elsewhere.
void check_plan(const std::string& path, const Options& options) {
  if (fs::exists(path)) return;
  if (!fs::is_directory(options.plans))
    fail("fwl reproduce", "a folder of plans " + options.plans, "none here",
         "run it in the project's folder, or pass --plans FOLDER");
  std::vector<std::string> scales;
  for (const auto& file : fs::directory_iterator(options.plans))
    if (file.path().extension() == ".toml") scales.push_back(file.path().stem().string());
  std::ranges::sort(scales);
  fail("--scale", fmt::format("one of {}", fmt::join(scales, ", ")), "'" + options.reproduction.scale + "'",
       did_you_mean(options.reproduction.scale, scales));
}

void check_only(const std::string& only, const std::vector<TablePlan>& plans) {
  std::vector<std::string> names;
  for (const auto& plan : plans) {
    names.push_back(plan.name);
    for (const auto seed : plan.seeds) {
      for (const auto& method : plan.methods) names.push_back(run_name(plan.name, method, seed));
      names.push_back(run_name(plan.name, "speed", seed));
    }
  }
  if (only.empty() || std::ranges::find(names, only) != names.end()) return;
  const auto hint = did_you_mean(only, names);
  std::vector<std::string> tables;
  for (const auto& plan : plans) tables.push_back(plan.name);
  fail("--only", fmt::format("a table of the plan ({}), or TABLE-METHOD-SEED", fmt::join(tables, ", ")),
       "'" + only + "'", hint.empty() ? "nothing of that name" : hint);
}

int run(Options& options, Console& console) {
  if (options.what != std::vector<std::string>{"tables"})
    throw UsageError(error_line("fwl reproduce", "tables", options.what.front()));
  const auto path = (fs::path(options.plans) / (options.reproduction.scale + ".toml")).string();
  check_plan(path, options);
  const auto plans = load_table_plans(path);
  check_only(options.reproduction.only, plans);
  Reproduction reproduction(options.reproduction,
                            {[&](const Arguments& arguments) { return output_of(arguments, console); },
                             [&](const std::string& line) { console.note(line); },
                             [&](const std::string& table) { console.out() << table << std::flush; }});
  for (const auto& plan : plans) reproduction.make(plan);
  for (const auto& line : reproduction.differences()) console.note(line);
  write_overview(options.reproduction.results);
  return 0;
}

}  // namespace

Command reproduce_command() {
  return make_command<Options>("reproduce", "reproduce the tables of results, from training to test",
                               "examples:\n"
                               "  fwl reproduce tables --scale here\n"
                               "  fwl reproduce tables --scale quick\n"
                               "  fwl reproduce tables --scale here --only enwik8-sparse-fwl-0",
                               describe, run);
}

}  // namespace fwl
