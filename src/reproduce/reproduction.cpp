#include "reproduce/reproduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "files/atomic_file.h"
#include "files/folder.h"
#include "files/memory_map.h"
#include "reproduce/published_record.h"
#include "support/error.h"
#include "support/json.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

// The first method of a result of fwl perplexity, under the name that the table has for it.
MethodResult first_method(const nlohmann::json& result, const std::string& name) {
  auto method = parse_result(name, result.dump()).methods.front();
  method.method = name;
  return method;
}

std::optional<ResultTable> published_table(const std::string& path) {
  if (!fs::exists(path)) return std::nullopt;
  return parse_result_table(path, parse_json(path, MemoryMap(path).text()));
}

// The method with fast weights that is shown beside static: gradients at the boundary where they are in the table.
std::string shown_method(const TablePlan& plan) {
  for (const char* method : {"boundary", "fwl"})
    if (std::ranges::find(plan.methods, method) != plan.methods.end()) return method;
  return {};
}

std::string speed_name(const TablePlan& plan) {
  return run_name(plan.name, "speed", plan.seeds.front());
}

}  // namespace

Reproduction::Reproduction(ReproductionOptions options, ReproductionHooks hooks)
    : options_(std::move(options)),
      hooks_(std::move(hooks)),
      runs_(fs::path(options_.runs) / options_.scale),
      results_(fs::path(options_.results) / options_.scale),
      keeper_(runs_, results_, hooks_.run) {
  make_folder(runs_.string());
  make_folder(results_.string());
}

void Reproduction::make(const TablePlan& plan) {
  std::vector<Outcome> outcomes;
  for (const auto seed : plan.seeds)
    for (const auto& method : plan.methods)
      if (is_selected(plan, method, seed))
        if (auto outcome = outcome_of(plan, method, seed)) outcomes.push_back(std::move(*outcome));
  const bool is_whole = options_.only.empty() || options_.only == plan.name;
  if (is_whole && !outcomes.empty()) write(plan, outcomes);
  if (options_.only == speed_name(plan)) costs(plan, shown_method(plan));
}

bool Reproduction::is_selected(const TablePlan& plan, const std::string& method, int64_t seed) const {
  if (seed != plan.seeds.front() && !has_seeds(plan, method)) return false;
  return options_.only.empty() || options_.only == plan.name || options_.only == run_name(plan.name, method, seed);
}

std::optional<Reproduction::Outcome> Reproduction::outcome_of(const TablePlan& plan, const std::string& method,
                                                              int64_t seed) {
  if (!options_.finished) return test(plan, method, seed);
  const auto name = run_name(plan.name, method, seed);
  const auto result = keeper_.finished(name + ".json");
  if (!result) return std::nullopt;
  note_other_settings(plan, method, seed);
  return Outcome{seed, first_method(*result, method), nll_path(name)};
}

Reproduction::Outcome Reproduction::test(const TablePlan& plan, const std::string& method, int64_t seed) {
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

std::string Reproduction::trained_for(const TablePlan& plan, const std::string& method, int64_t seed) {
  if (!needs_training(plan, method)) return {};
  const auto name = run_name(plan.runs, training_of(method), seed);
  const auto folder = runs_ / name;
  const auto arguments = train_arguments(plan, training_of(method), seed, folder.string());
  const auto command_path = (folder / "command.txt").string();
  if (!fs::exists(folder / "model")) {
    hooks_.run(arguments);
    write_file_atomically(command_path, command_text(arguments) + "\n");
  } else if (fs::exists(command_path) && MemoryMap(command_path).text() != command_text(arguments) + "\n") {
    fail(folder.string(), "a run of the plan's command", "one of another (command.txt)",
         "the plan has changed: remove the folder to train it again");
  }
  write_file_atomically((results_ / (name + ".jsonl")).string(), MemoryMap((folder / "record.jsonl").string()).text());
  return (folder / "best").string();
}

// A published row may be older than the plan.
void Reproduction::note_other_settings(const TablePlan& plan, const std::string& method, int64_t seed) const {
  const auto name = run_name(plan.runs, method, seed);
  const auto record = (results_ / (name + ".jsonl")).string();
  if (training_of(method) != method || !fs::exists(record)) return;
  for (const auto& difference : differing_settings(record, train_arguments(plan, method, seed, {})))
    hooks_.on_note(fmt::format("{}: was made with {}", name, difference));
}

int64_t Reproduction::training_steps(const TablePlan& plan, const Outcome& outcome) const {
  if (!needs_training(plan, outcome.method())) return 0;
  const auto name = run_name(plan.runs, training_of(outcome.method()), outcome.seed);
  return training_steps_of((results_ / (name + ".jsonl")).string());
}

std::string Reproduction::nll_path(const std::string& name) const {
  return (runs_ / (name + ".nll")).string();
}

// Of a row to the one that all are compared with: of every token's losses where they are at hand, otherwise of what the
// results keep of them, as the table has it, or of the means.
std::optional<LossDifference> Reproduction::difference(const TablePlan& plan, const std::vector<Outcome>& all,
                                                       const Outcome& outcome,
                                                       const std::optional<ResultTable>& published) {
  const auto before = std::ranges::find_if(all, [&](const Outcome& other) {
    return other.method() == plan.against && (other.seed == outcome.seed || !has_seeds(plan, plan.against));
  });
  if (before == all.end() || outcome.method() == plan.against) return std::nullopt;
  if (fs::exists(before->nll_path) && fs::exists(outcome.nll_path))
    return paired_difference(before->nll_path, outcome.nll_path);
  if (auto paired = paired_difference(before->result, outcome.result)) return paired;
  const LossDifference of_means{outcome.result.nll - before->result.nll, {}, {}};
  if (!published) return of_means;
  for (const auto& row : published->rows)
    if (row.seed == outcome.seed && row.result.method == outcome.method() && row.difference &&
        std::abs(row.difference->mean - of_means.mean) < 1e-6)
      return row.difference;
  return of_means;
}

// The table as Markdown, and as JSON for the page of all tables.
void Reproduction::write(const TablePlan& plan, const std::vector<Outcome>& all) {
  ResultTable table{.name = plan.name,
                    .command = "fwl reproduce tables --scale " + options_.scale,
                    .is_bytes = plan.tokenizer == "bytes",
                    .against = plan.against,
                    .rows = {},
                    .cost_model = shown_method(plan),
                    .costs = {}};
  const auto path = (results_ / plan.name).string();
  const auto published = published_table(path + ".json");
  for (const auto& outcome : all)
    table.rows.push_back(
        {outcome.seed, training_steps(plan, outcome), outcome.result, difference(plan, all, outcome, published)});
  if (!table.cost_model.empty()) table.costs = costs(plan, table.cost_model);
  const auto text = to_markdown(table);
  write_file_atomically(path + ".md", text);
  write_file_atomically(path + ".json", to_json(table).dump(1) + "\n");
  hooks_.on_table(text);
  report(plan, all);
}

void Reproduction::report(const TablePlan& plan, const std::vector<Outcome>& all) {
  std::vector<std::string> inputs;
  std::string before, after;
  for (const auto& outcome : all) {
    if (outcome.seed != plan.seeds.front() || !fs::exists(outcome.nll_path)) continue;
    const auto folder = runs_ / run_name(plan.runs, outcome.method(), outcome.seed);
    if (fs::exists(folder / "record.jsonl")) inputs.push_back(folder.string());
    inputs.push_back(outcome.nll_path);
    if (outcome.method() == plan.against) before = outcome.nll_path + ":static";
    if (outcome.method() == shown_method(plan)) after = outcome.nll_path + ":fwl";
  }
  if (before.empty() || after.empty()) return;
  const auto path = [&](const char* extension) { return (results_ / (plan.name + extension)).string(); };
  hooks_.run(report_arguments(plan, inputs, before, after, path(".html"), path(".svg")));
}

// What the methods cost, in one run on the model with fast weights.
std::vector<MethodResult> Reproduction::costs(const TablePlan& plan, const std::string& method) {
  const auto name = speed_name(plan);
  if (options_.finished) {
    const auto known = keeper_.finished(name + ".json");
    return known ? parse_result(name, known->dump()).methods : std::vector<MethodResult>{};
  }
  const auto trained = trained_for(plan, method, plan.seeds.front());
  const auto result = keeper_.result_of(name + ".json", speed_arguments(plan, trained), {{trained, plan.test}, {}});
  return parse_result(name, result.dump()).methods;
}

}  // namespace fwl
