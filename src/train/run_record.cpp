#include "train/run_record.h"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/products.h"
#include "engine/torch.h"
#include "files/atomic_file.h"
#include "files/memory_map.h"
#include "support/cpu.h"
#include "support/error.h"
#include "support/json.h"

namespace fwl {
namespace {

int64_t step_of(const std::string& where, const nlohmann::json& line) {
  const auto step = line.is_object() ? line.find("step") : line.end();
  if (step == line.end() || !step->is_number_integer())
    fail(where, "lines of a run, each with its step", "another line", "the file is damaged");
  return step->get<int64_t>();
}

bool is_step(const nlohmann::json& line) {
  const auto event = line.find("event");
  return event != line.end() && *event == "step";
}

}  // namespace

RunRecord::RunRecord(const std::string& folder) : path_(folder + "/record.jsonl"), steps_(folder + "/steps.csv") {}

void RunRecord::start() {
  steps_.start();
  file_.emplace(path_, 0);
}

void RunRecord::go_on_after(int64_t last_step) {
  steps_.start();
  std::string kept;
  if (std::filesystem::exists(path_)) {
    const MemoryMap before(path_);
    for (auto rest = before.text(); !rest.empty();) {
      const auto line = rest.substr(0, rest.find('\n') + 1);
      if (line.empty()) break;  // the last line of a killed run may be incomplete
      rest.remove_prefix(line.size());
      const auto json = parse_json(path_, line);
      if (step_of(path_, json) > last_step) continue;
      kept += line;
      if (is_step(json)) steps_.add(json);
    }
  }
  write_file_atomically(path_, kept);
  file_.emplace(path_, kept.size());
}

void RunRecord::add(const nlohmann::json& line) {
  if (is_step(line)) steps_.add(line);
  const auto text = line.dump() + "\n";
  file_->append(text.data(), text.size());
}

nlohmann::json environment_json(int64_t ranks) {
  return {{"fwl", FWL_VERSION},
          {"torch", TORCH_VERSION},
          {"cpu", to_string(cpu_features())},
          {"threads", at::get_num_threads()},
          {"products", products_in_use()},
          {"ranks", ranks}};
}

}  // namespace fwl
