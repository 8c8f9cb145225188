#include "architecture/folder_config.h"

#include <cmath>

#include "support/error.h"
#include "tokenizer/json_field.h"

namespace fwl {
namespace {

constexpr double largest_count = 2147483647;

std::string place(const std::string& where, const char* name) {
  return where + ": " + name;
}

}  // namespace

FolderConfig::FolderConfig(const HuggingFaceFolder& folder)
    : where_(folder.path() + "/config.json"), json_(&folder.config()) {}

FolderConfig FolderConfig::part(const char* name) const {
  const auto& inside = json_or_null(*json_, name);
  if (!inside.is_object()) fail(place(where_, name), "an object", json_number_or_kind(inside));
  return {place(where_, name), inside};
}

int64_t FolderConfig::count(const char* name, std::optional<int64_t> otherwise) const {
  const double value = number(name, otherwise ? std::optional(static_cast<double>(*otherwise)) : std::nullopt);
  if (!(value >= 1 && value <= largest_count && std::floor(value) == value))
    fail(place(where_, name), "a whole number of at least 1", json_number_or_kind(json_or_null(*json_, name)));
  return static_cast<int64_t>(value);
}

int64_t FolderConfig::count_or_none(const char* name) const {
  return number(name, 0.0) <= 0 ? 0 : count(name);
}

double FolderConfig::number(const char* name, std::optional<double> otherwise) const {
  return otherwise ? json_field<double>(where_, *json_, name, *otherwise) : json_field<double>(where_, *json_, name);
}

bool FolderConfig::flag(const char* name, bool otherwise) const {
  return json_field<bool>(where_, *json_, name, otherwise);
}

std::string FolderConfig::text(const char* name, const std::string& otherwise) const {
  return json_field<std::string>(where_, *json_, name, otherwise);
}

}  // namespace fwl
