// A run's record: JSON lines with the config, the data's hash, the versions, and everything that was measured.
#pragma once

#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fwl {

class RunRecord {
 public:
  explicit RunRecord(std::string path) : path_(std::move(path)) {}

  // Starts anew, or goes on after `last_step`: later lines, of steps that are taken again, are dropped.
  void start();
  void go_on_after(int64_t last_step);

  void add(const nlohmann::json& line);

 private:
  std::string path_;
  std::ofstream file_;
};

// Who made it: versions, CPU, threads.
nlohmann::json environment_json();

}  // namespace fwl
