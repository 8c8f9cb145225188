#include "report/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/error.h"
#include "support/json.h"

namespace fwl {
namespace {

// Writes plain keys before tables, as TOML requires. Other JSON values are valid TOML.
std::string settings_toml(const nlohmann::json& config) {
  std::string plain, tables;
  for (const auto& [key, value] : config.items()) {
    if (value.is_object())
      tables += fmt::format("\n[{}]\n{}", key, settings_toml(value));
    else if (!value.is_null())
      plain += fmt::format("{} = {}\n", key, value.dump());
  }
  return plain + tables;
}

std::string plain_text(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void read_start(TrainingRun& run, const nlohmann::json& line) {
  const auto& config = line.at("config");
  run.kind = config.contains("base") ? "attach" : "train";
  run.base = config.value("base", "");
  run.settings = settings_toml(config);
  run.objective = config.at("objective").at("name").get<std::string>();
  run.seed = config.at("run").at("seed").get<int64_t>();
  run.steps = config.at("run").at("steps").get<int64_t>();
  run.parameters = line.value("parameters", int64_t{0});
  for (const auto& [name, value] : line.at("environment").items())
    run.environment.emplace_back(name, plain_text(value));
  run.threads = line.at("environment").value("threads", int64_t{0});
  for (const auto& [use, facts] : line.at("data").items())
    if (facts.is_object())
      run.data.push_back({use, facts.value("path", ""), facts.value("hash", ""), facts.value("tokens", int64_t{0})});
}

void add_point(std::vector<ChartPoint>& points, const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number()) return;  // null: not finite
  points.push_back({line.at("step").get<double>(), found->get<double>()});
}

void read_step(TrainingRun& run, const nlohmann::json& line) {
  if (line.contains("skipped")) return;
  add_point(run.losses, line, "loss");
  add_point(run.tokens_per_second, line, "tokens_per_second");
  if (!line.contains("step_sizes")) return;
  for (const auto& [name, value] : line["step_sizes"].items()) {
    auto found = std::ranges::find(run.step_sizes, name, [](const auto& series) { return series.first; });
    if (found == run.step_sizes.end()) found = run.step_sizes.insert(found, {name, {}});
    add_point(found->second, {{"step", line.at("step")}, {"size", value}}, "size");
  }
}

void read_line(TrainingRun& run, const nlohmann::json& line) {
  const auto event = line.at("event").get<std::string>();
  if (event == "start") read_start(run, line);
  if (event == "resume") run.steps = line.value("steps", run.steps);
  if (event == "step") read_step(run, line);
  if (event == "valid") {
    add_point(run.validations, line, "loss");
    add_point(run.slow_validations, line, "slow");
  }
}

std::string shell_word(const std::string& word) {
  const auto is_plain = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) ||
           std::string_view("/._-+=:,@%").find(letter) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string quoted = "'";
  for (const char letter : word) letter == '\'' ? quoted += "'\\''" : quoted += letter;
  return quoted + "'";
}

}  // namespace

std::string TrainingRun::settings_name() const {
  const auto name = std::filesystem::path(path).lexically_normal();
  return (name.has_filename() ? name : name.parent_path()).filename().string() + ".toml";
}

std::string TrainingRun::command() const {
  auto command = fmt::format("fwl {} --config {}", kind, shell_word(settings_name()));
  if (kind == "attach") {  // the text is not a setting of the layer
    command += fmt::format(" --base {}", shell_word(base));
    for (const auto& one : data) {
      if (one.use == "train") command += fmt::format(" --text {}", shell_word(one.path));
      if (one.use == "valid") command += fmt::format(" --valid-text {}", shell_word(one.path));
    }
  }
  if (threads > 0) command += fmt::format(" --threads {}", threads);
  return command + fmt::format(" --out {}", shell_word(path));
}

TrainingRun parse_record(const std::string& where, std::string_view lines) {
  TrainingRun run;
  run.path = where;
  for (size_t number = 1; !lines.empty(); ++number) {
    const auto end = lines.find('\n');
    if (end == std::string_view::npos) break;
    const auto place = fmt::format("{}:{}", where, number);
    const auto line = parse_json(place, lines.substr(0, end));
    lines.remove_prefix(end + 1);
    try {
      read_line(run, line);
    } catch (const nlohmann::json::exception&) {
      fail(place, "a line of a run's record", "other JSON", "not made by fwl train or fwl attach?");
    }
  }
  if (run.kind.empty()) fail(where, "a record that begins with a run's config", "none");
  return run;
}

}  // namespace fwl
