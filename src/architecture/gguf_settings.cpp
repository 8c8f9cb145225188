#include "architecture/gguf_settings.h"

#include <fmt/format.h>

#include <limits>

#include "support/error.h"

namespace fwl {

GgufSettings::GgufSettings(const GgufFile& file)
    : file_(&file), architecture_(file.get<std::string_view>("general.architecture")) {}

std::string GgufSettings::key(const char* name) const {
  return fmt::format("{}.{}", architecture_, name);
}

std::string GgufSettings::place(const char* name) const {
  return fmt::format("{}: {}", file_->where(), key(name));
}

int64_t GgufSettings::count(const char* name, std::optional<int64_t> otherwise) const {
  const auto value = otherwise ? file_->get_or<int64_t>(key(name), *otherwise) : file_->get<int64_t>(key(name));
  if (value < 1 || value > std::numeric_limits<int32_t>::max())
    fail(place(name), "a whole number of at least 1", std::to_string(value));
  return value;
}

int64_t GgufSettings::count_or_none(const char* name) const {
  return file_->get_or<int64_t>(key(name), 0) == 0 ? 0 : count(name);
}

double GgufSettings::number(const char* name, std::optional<double> otherwise) const {
  return otherwise ? file_->get_or<double>(key(name), *otherwise) : file_->get<double>(key(name));
}

std::string GgufSettings::text(const char* name, const std::string& otherwise) const {
  return std::string(file_->get_or<std::string_view>(key(name), otherwise));
}

std::vector<bool> GgufSettings::sliding_layers(int64_t layers, int64_t period) const {
  constexpr auto name = "attention.sliding_window_pattern";
  std::vector<bool> sliding(static_cast<size_t>(layers));
  const auto* stored = file_->find(key(name));
  if (const auto* array = stored ? std::get_if<GgufArray>(&stored->data) : nullptr) {
    if (array->kind != GgufKind::boolean || array->count < sliding.size())
      fail(place(name), fmt::format("{} booleans", layers), fmt::format("{} values", array->count));
    for (size_t layer = 0; layer < sliding.size(); ++layer)
      sliding[layer] = std::get<bool>(element(*array, layer).data);
    return sliding;
  }
  const int64_t every = count(name, period);
  for (int64_t layer = 0; layer < layers; ++layer) sliding[static_cast<size_t>(layer)] = (layer + 1) % every != 0;
  return sliding;
}

}  // namespace fwl
