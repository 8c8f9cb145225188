// The logged steps of a run as CSV, for spreadsheets and plots.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "files/growing_file.h"

namespace fwl {

class StepTable {
 public:
  explicit StepTable(std::string path) : path_(std::move(path)) {}

  void start();                          // an empty table
  void add(const nlohmann::json& line);  // a step's line of the run record; the first one names the columns

 private:
  void append(const std::string& row);

  std::string path_;
  std::optional<GrowingFile> file_;
  std::vector<std::string> step_sizes_;  // names of the last columns
  bool has_head_ = false;
};

}  // namespace fwl
