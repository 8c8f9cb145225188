// Results of commands: made once, kept in a folder of runs, published in one of results.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reproduce/table_plan.h"

namespace fwl {

class ResultKeeper {
 public:
  using RunCommand = std::function<std::string(const Arguments&)>;  // returns what it printed: JSON
  ResultKeeper(std::filesystem::path runs, std::filesystem::path results, RunCommand run);

  // What a command reads and writes: its result is made again if an input is newer or an output is gone.
  struct Files {
    std::vector<std::string> inputs, outputs;
  };
  // From the folder of runs, if it was made there; what lies in results alone came with the project: it is made again,
  // and compared.
  nlohmann::json result_of(const std::string& name, const Arguments& arguments, const Files& files);

  // A result that was made before, here or elsewhere, whatever has become of its files.
  std::optional<nlohmann::json> finished(const std::string& name) const;

  // How results that were made again differ from the published ones, a line each.
  const std::vector<std::string>& differences() const { return differences_; }

 private:
  std::optional<nlohmann::json> made_before(const std::string& name, const Arguments& arguments,
                                            const Files& files) const;

  std::filesystem::path runs_, results_;
  RunCommand run_;
  std::vector<std::string> differences_;
};

}  // namespace fwl
