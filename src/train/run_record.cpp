#include "train/run_record.h"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/torch.h"
#include "files/atomic_file.h"
#include "support/cpu.h"
#include "support/error.h"

namespace fwl {
namespace {

bool is_step(const nlohmann::json& line) {
  return line.value("event", "") == "step";
}

}  // namespace

RunRecord::RunRecord(const std::string& folder) : path_(folder + "/record.jsonl"), steps_(folder + "/steps.csv") {}

void RunRecord::start() {
  steps_.start();
  file_.open(path_, std::ios::trunc);
  if (!file_) fail_with_errno(path_, "cannot write");
}

void RunRecord::go_on_after(int64_t last_step) {
  steps_.start();
  std::ostringstream kept;
  std::ifstream before(path_);
  for (std::string line; std::getline(before, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    const bool is_whole = json.is_object();  // the last line of a killed run may be incomplete
    if (!is_whole || json.value("step", int64_t{0}) > last_step) continue;
    kept << line << '\n';
    if (is_step(json)) steps_.add(json);
  }
  before.close();
  write_file_atomically(path_, kept.str());
  file_.open(path_, std::ios::app);
  if (!file_) fail_with_errno(path_, "cannot write");
}

void RunRecord::add(const nlohmann::json& line) {
  if (is_step(line)) steps_.add(line);
  file_ << line.dump() << '\n';
  file_.flush();
  if (!file_) fail_with_errno(path_, "cannot write");
}

nlohmann::json environment_json() {
  return {{"fwl", FWL_VERSION},
          {"torch", TORCH_VERSION},
          {"cpu", to_string(cpu_features())},
          {"threads", at::get_num_threads()}};
}

}  // namespace fwl
