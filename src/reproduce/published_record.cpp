#include "reproduce/published_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
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

}  // namespace

std::vector<std::string> differing_settings(const std::string& record_path, const Arguments& training) {
  const MemoryMap map(record_path);
  const auto first_line = map.text().substr(0, map.text().find('\n'));
  const auto record = parse_json(record_path, first_line);
  if (!record.is_object() || !record.contains("config"))
    fail(record_path, "a run's record, with its config first", "something else");
  std::vector<std::string> differences;
  for (const auto& [key, text] : settings_of(training)) {
    std::string path = "/config/" + key;
    std::ranges::replace(path, '.', '/');
    const auto value = record.value(nlohmann::json::json_pointer(path), nlohmann::json());
    if (!is_same(value, text)) differences.push_back(fmt::format("{}={}, the plan has {}", key, value.dump(), text));
  }
  return differences;
}

}  // namespace fwl
