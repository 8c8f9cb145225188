// Parses the record of a run of `fwl train` or `fwl attach`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/svg_chart.h"

namespace fwl {

struct TrainingData {
  std::string use;  // "train", "valid"
  std::string path, hash;
  int64_t tokens = 0;
};

struct TrainingRun {
  std::string path;                                          // the folder
  std::string kind;                                          // "train" or "attach"
  std::string settings;                                      // the whole config as TOML, which the command can read
  std::string objective, base;                               // base: for attached layers
  int64_t seed = 0, parameters = 0, steps = 0, threads = 0;  // steps: as planned
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<TrainingData> data;
  // By step, without skipped steps.
  std::vector<ChartPoint> losses, validations, slow_validations, tokens_per_second;
  std::vector<std::pair<std::string, std::vector<ChartPoint>>> step_sizes;

  std::string command() const;        // that repeats this run from the settings in a file
  std::string settings_name() const;  // of that file
};

// Throws a UserError that names `where`; ignores an incomplete last line.
TrainingRun parse_record(const std::string& where, std::string_view lines);

}  // namespace fwl
