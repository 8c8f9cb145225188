// A base model that is made here: which architecture, and the settings of every one that could be chosen.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "architecture/architecture.h"

namespace fwl {

class BaseConfig {
 public:
  BaseConfig();
  BaseConfig(const BaseConfig& other);
  BaseConfig(BaseConfig&&) = default;
  BaseConfig& operator=(BaseConfig other) noexcept;

  std::string architecture;
  int64_t vocabulary_size = 0;  // from the data

  std::shared_ptr<BaseModel> make(WeightSource& source) const;

 private:
  friend void add_fields(Fields& fields, BaseConfig& config);

  std::map<std::string, std::unique_ptr<ArchitectureSettings>> settings_;  // by architecture
};

// model.architecture, and for each one its own settings.
void add_fields(Fields& fields, BaseConfig& config);

// Settings by their names without "model.", e.g. {"layers": 2}.
BaseConfig base_config(const std::string& architecture, int64_t vocabulary_size, const nlohmann::json& settings);

}  // namespace fwl
