// Makes the tables of a plan: trains, tunes and tests by ordinary commands, and writes what they found as tables.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/result_table.h"
#include "reproduce/result_keeper.h"
#include "reproduce/table_plan.h"

namespace fwl {

struct ReproductionOptions {
  std::string scale = "here", runs = "runs", results = "results";
  std::string only;       // one table of the plan, or one run: TABLE-METHOD-SEED; empty: all
  bool finished = false;  // run nothing: the rows that are finished
};

// What a reproduction asks of the program that it is part of.
struct ReproductionHooks {
  std::function<std::string(const Arguments&)> run;  // runs a command, returns what it printed; throws if it fails
  std::function<void(const std::string&)> on_note;   // a line for people
  std::function<void(const std::string&)> on_table;  // a finished table, as Markdown
};

class Reproduction {
 public:
  Reproduction(ReproductionOptions options, ReproductionHooks hooks);

  void make(const TablePlan& plan);

  // How results that were made again differ from the published ones, a line each.
  const std::vector<std::string>& differences() const { return keeper_.differences(); }

 private:
  // One row of a table for one seed.
  struct Outcome {
    int64_t seed = 0;
    MethodResult result;
    std::string nll_path;
    const std::string& method() const { return result.method; }
  };

  bool is_selected(const TablePlan& plan, const std::string& method, int64_t seed) const;
  std::optional<Outcome> outcome_of(const TablePlan& plan, const std::string& method, int64_t seed);
  Outcome test(const TablePlan& plan, const std::string& method, int64_t seed);
  std::string trained_for(const TablePlan& plan, const std::string& method, int64_t seed);
  void note_other_settings(const TablePlan& plan, const std::string& method, int64_t seed) const;
  std::vector<MethodResult> costs(const TablePlan& plan, const std::string& method);
  void write(const TablePlan& plan, const std::vector<Outcome>& all);
  void report(const TablePlan& plan, const std::vector<Outcome>& all);
  int64_t training_steps(const TablePlan& plan, const Outcome& outcome) const;
  std::string nll_path(const std::string& name) const;
  static std::optional<LossDifference> difference(const TablePlan& plan, const std::vector<Outcome>& all,
                                                  const Outcome& outcome, const std::optional<ResultTable>& published);

  ReproductionOptions options_;
  ReproductionHooks hooks_;
  std::filesystem::path runs_, results_;
  ResultKeeper keeper_;
};

}  // namespace fwl
