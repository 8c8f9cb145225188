#include "reproduce/result_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "files/atomic_file.h"
#include "files/memory_map.h"
#include "support/error.h"
#include "support/json.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

std::optional<nlohmann::json> json_on_file(const fs::path& path) {
  if (!fs::exists(path)) return std::nullopt;
  auto json = parse_json(path.string(), MemoryMap(path.string()).text());
  if (!json.is_object() || !json.contains("command") || !json.contains("result"))
    fail(path.string(), "a command and its result", "other JSON", "remove it to make it again");
  return json;
}

bool is_newer(const std::string& path, const fs::path& than) {
  return fs::exists(path) && fs::last_write_time(path) > fs::last_write_time(than);
}

// The number that sums a result up: the loss of a test, the best value of a tuning.
std::optional<double> number_of(const nlohmann::json& result) {
  const auto key = result.contains("best") ? "/best" : "/methods/0/nll";
  const auto value = result.value(nlohmann::json::json_pointer(key), nlohmann::json());
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

}  // namespace

ResultKeeper::ResultKeeper(fs::path runs, fs::path results, RunCommand run)
    : runs_(std::move(runs)), results_(std::move(results)), run_(std::move(run)) {}

std::optional<nlohmann::json> ResultKeeper::made_before(const std::string& name, const Arguments& arguments,
                                                        const Files& files) const {
  const auto path = runs_ / name;
  auto known = json_on_file(path);
  if (!known || (*known)["command"] != command_text(arguments)) return std::nullopt;
  if (std::ranges::any_of(files.inputs, [&](const auto& input) { return is_newer(input, path); })) return std::nullopt;
  if (!std::ranges::all_of(files.outputs, [](const auto& output) { return fs::exists(output); })) return std::nullopt;
  return known;
}

std::optional<nlohmann::json> ResultKeeper::finished(const std::string& name) const {
  auto known = json_on_file(runs_ / name);
  if (!known) known = json_on_file(results_ / name);
  return known ? std::optional((*known)["result"]) : std::nullopt;
}

nlohmann::json ResultKeeper::result_of(const std::string& name, const Arguments& arguments, const Files& files) {
  auto known = made_before(name, arguments, files);
  if (!known) {
    known = {{"command", command_text(arguments)}, {"result", parse_json(name, run_(arguments))}};
    if (const auto published = json_on_file(results_ / name)) {
      const auto now = number_of((*known)["result"]), then = number_of((*published)["result"]);
      if (now && then)
        differences_.push_back(fmt::format("{}: {:.4f}, published {:.4f}, difference {:+.4f}",
                                           fs::path(name).stem().string(), *now, *then, *now - *then));
    }
    write_file_atomically((runs_ / name).string(), known->dump(1) + "\n");
  }
  write_file_atomically((results_ / name).string(), known->dump(1) + "\n");
  return (*known)["result"];
}

}  // namespace fwl
