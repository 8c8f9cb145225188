#include "reproduce/published_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "files/memory_map.h"
#include "support/error.h"
#include "support/json.h"

namespace fwl {
namespace {

// As the command has them: the last one of a key counts.
std::map<std::string, std::string> settings_of(const Arguments& training) {
  std::map<std::string, std::string> settings;
  for (size_t index = 1; index < training.size(); ++index) {
    const auto& text = training[index];
    const auto equals = text.find('=');
    if (training[index - 1] == "--set" && equals != std::string::npos)
      settings[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return settings;
}

bool is_same(const nlohmann::json& value, const std::string& text) {
  if (value.is_string()) return value.get_ref<const std::string&>() == text;
  if (value.is_number()) return value.get<double>() == std::strtod(text.c_str(), nullptr);
  return value.dump() == text;
}

// Its first line.
nlohmann::json start_of(const std::string& record_path) {
  const MemoryMap map(record_path);
  auto record = parse_json(record_path, map.text().substr(0, map.text().find('\n')));
  if (!record.is_object() || !record.contains("config"))
    fail(record_path, "a run's record, with its config first", "something else");
  return record;
}

}  // namespace

int64_t training_steps_of(const std::string& record_path) {
  if (!std::filesystem::exists(record_path)) return 0;
  return start_of(record_path).value(nlohmann::json::json_pointer("/config/run/steps"), int64_t{0});
}

std::vector<std::string> differing_settings(const std::string& record_path, const Arguments& training) {
  const auto record = start_of(record_path);
  std::vector<std::string> differences;
  for (const auto& [key, text] : settings_of(training)) {
    std::string path = "/config/" + key;
    std::ranges::replace(path, '.', '/');
    const nlohmann::json::json_pointer pointer(path);
    if (!record.contains(pointer.parent_pointer())) continue;  // a part that the model does not have
    const auto value = record.value(pointer, nlohmann::json());
    if (!is_same(value, text)) differences.push_back(fmt::format("{}={}, the plan has {}", key, value.dump(), text));
  }
  return differences;
}

}  // namespace fwl
