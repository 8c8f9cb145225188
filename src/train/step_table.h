// The logged steps of a run as CSV, for spreadsheets and plots.
#pragma once

#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace fwl {

class StepTable {
 public:
  explicit StepTable(std::string path) : path_(std::move(path)) {}

  void start();                          // an empty table
  void add(const nlohmann::json& line);  // a step's line of the run record; the first one names the columns

 private:
  std::string path_;
  std::ofstream file_;
  std::vector<std::string> step_sizes_;  // names of the last columns
  bool has_head_ = false;
};

}  // namespace fwl
