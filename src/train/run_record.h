// The record of a run: JSON lines with config, data hashes, versions and all measurements.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "files/growing_file.h"

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
  std::optional<GrowingFile> file_;
};

// Versions, CPU, threads.
nlohmann::json environment_json();

}  // namespace fwl
