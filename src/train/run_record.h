// The record of a run: JSON lines with config, data hashes, versions and all measurements.
#pragma once

#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fwl {

class RunRecord {
 public:
  explicit RunRecord(std::string path) : path_(std::move(path)) {}

  // Starts a new record, or continues after `last_step` and drops later lines.
  void start();
  void go_on_after(int64_t last_step);

  void add(const nlohmann::json& line);

 private:
  std::string path_;
  std::ofstream file_;
};

// Versions, CPU, threads.
nlohmann::json environment_json();

}  // namespace fwl
