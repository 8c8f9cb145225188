// Reads numbers of a published model's config.json and checks them before anything is allocated.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "files/huggingface_folder.h"

namespace fwl {

class FolderConfig {
 public:
  explicit FolderConfig(const HuggingFaceFolder& folder);

  // A whole number from 1 to 2^31 - 1; `otherwise` if it is missing or null.
  int64_t count(const char* name, std::optional<int64_t> otherwise = std::nullopt) const;
  // As above, and 0 or less means 0.
  int64_t count_or_none(const char* name) const;
  double number(const char* name, std::optional<double> otherwise = std::nullopt) const;
  bool flag(const char* name, bool otherwise) const;
  std::string text(const char* name, const std::string& otherwise) const;

  FolderConfig part(const char* name) const;  // an object inside this one, which must be there

  const std::string& where() const { return where_; }
  const nlohmann::json& json() const { return *json_; }

 private:
  FolderConfig(std::string where, const nlohmann::json& json) : where_(std::move(where)), json_(&json) {}

  std::string where_;
  const nlohmann::json* json_;
};

}  // namespace fwl
