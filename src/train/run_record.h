// The record of a run: JSON lines with config, data hashes, versions and all measurements; its steps also as CSV.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "files/growing_file.h"
#include "train/step_table.h"

namespace fwl {

class RunRecord {
 public:
  explicit RunRecord(const std::string& folder);  // record.jsonl and steps.csv in it

  // Starts a new record, or continues after `last_step` and drops later lines.
  void start();
  void go_on_after(int64_t last_step);

  void add(const nlohmann::json& line);

 private:
  std::string path_;
  std::optional<GrowingFile> file_;
  StepTable steps_;
};

// Versions, CPU, threads of a rank, ranks.
nlohmann::json environment_json(int64_t ranks);

}  // namespace fwl
