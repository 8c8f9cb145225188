#include "architecture/base_config.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "support/error.h"

namespace fwl {

BaseConfig::BaseConfig() : architecture(architectures().front().name) {
  for (const auto& known : architectures())
    if (known.new_settings) settings_.emplace(known.name, known.new_settings());
}

BaseConfig::BaseConfig(const BaseConfig& other)
    : architecture(other.architecture), vocabulary_size(other.vocabulary_size) {
  for (const auto& [name, settings] : other.settings_) settings_.emplace(name, settings->clone());
}

BaseConfig& BaseConfig::operator=(BaseConfig other) noexcept {
  std::swap(architecture, other.architecture);
  std::swap(vocabulary_size, other.vocabulary_size);
  std::swap(settings_, other.settings_);
  return *this;
}

std::shared_ptr<BaseModel> BaseConfig::make(WeightSource& source) const {
  return settings_.at(architecture)->make(vocabulary_size, source);
}

void add_fields(Fields& fields, BaseConfig& config) {
  std::vector<std::string> names;
  for (const auto& known : architectures())
    if (known.new_settings) names.push_back(known.name);
  const auto& chooser = fields.add("model.architecture", config.architecture, "what kind of model").choices(names);
  for (const auto& name : names) {
    Fields own;
    config.settings_.at(name)->add_fields(own);
    fields.add_choice(chooser, name, own);
  }
}

BaseConfig base_config(const std::string& architecture, int64_t vocabulary_size, const nlohmann::json& settings) {
  BaseConfig config;
  config.vocabulary_size = vocabulary_size;
  Fields fields;
  add_fields(fields, config);
  const auto where = architecture + " model";
  fields.set_text(where, "model.architecture", architecture);
  fields.set_json(where, {{"model", settings}});
  fields.check(where);
  return config;
}

}  // namespace fwl
