#include "architecture/rotary_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "engine/torch.h"
#include "support/error.h"
#include "tokenizer/json_field.h"

namespace fwl {
namespace {

at::Tensor linear_divisors(int64_t size, double factor) {
  return at::full({size / 2}, factor, at::kDouble);
}

// Llama 3's context extension: low frequencies are divided by `factor`, high ones stay, those between are interpolated.
at::Tensor llama3_divisors(const RotaryConfig& rotary, const std::string& where, const nlohmann::json& scaling) {
  const double factor = json_field<double>(where, scaling, "factor");
  const double low = json_field<double>(where, scaling, "low_freq_factor"),
               high = json_field<double>(where, scaling, "high_freq_factor");
  const double original_tokens = json_field<double>(where, scaling, "original_max_position_embeddings");
  std::vector<double> divisors;
  for (int64_t index = 0; index < rotary.size / 2; ++index) {
    const double exponent = 2 * static_cast<double>(index) / static_cast<double>(rotary.size);
    const double wavelength = 2 * std::numbers::pi * std::pow(rotary.base, exponent);
    const double turns = original_tokens / wavelength;
    const double unscaled = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    divisors.push_back(1 / ((1 - unscaled) / factor + unscaled));
  }
  return at::tensor(divisors, at::kDouble);
}

std::string scaling_kind(const std::string& where, const nlohmann::json& scaling) {
  return json_field<std::string>(where, scaling, "rope_type",
                                 json_field<std::string>(where, scaling, "type", "default"));
}

// Early folders of Phi-3 name it su or yarn; yarn proper has no factor for each frequency.
bool is_longrope(const std::string& where, const nlohmann::json& settings) {
  const auto kind = scaling_kind(where, settings);
  return kind == "longrope" || kind == "su" || (kind == "yarn" && settings.contains("short_factor"));
}

std::string scaling_place(const FolderConfig& json) {
  return json.where() +
         (json_or_null(json.json(), "rope_parameters").is_null() ? ": rope_scaling" : ": rope_parameters");
}

int64_t rotated_values(const std::string& where, double share, int64_t head_size) {
  const auto size = static_cast<int64_t>(share * static_cast<double>(head_size));
  if (!(share > 0 && share <= 1) || size < 2 || size % 2 != 0)
    fail(where + ": partial_rotary_factor", fmt::format("an even share of {} values", head_size),
         fmt::format("{}", share));
  return size;
}

}  // namespace

const nlohmann::json& rotary_settings(const FolderConfig& json) {
  const auto& parameters = json_or_null(json.json(), "rope_parameters");
  const auto& settings = parameters.is_null() ? json_or_null(json.json(), "rope_scaling") : parameters;
  if (!settings.is_null() && !settings.is_object())
    fail(scaling_place(json), "an object", json_number_or_kind(settings));
  return settings;
}

bool is_longrope(const FolderConfig& json) {
  const auto& settings = rotary_settings(json);
  return !settings.is_null() && is_longrope(scaling_place(json), settings);
}

RotaryConfig rotary_from_settings(const std::string& where, const nlohmann::json& settings, RotaryConfig otherwise,
                                  int64_t head_size) {
  auto rotary = std::move(otherwise);
  rotary.base = json_field<double>(where, settings, "rope_theta", rotary.base);
  if (settings.contains("partial_rotary_factor"))
    rotary.size = rotated_values(where, json_field<double>(where, settings, "partial_rotary_factor"), head_size);
  if (is_longrope(where, settings)) return rotary;
  const auto kind = scaling_kind(where, settings);
  if (kind == "linear")
    rotary.divisors = linear_divisors(rotary.size, json_field<double>(where, settings, "factor"));
  else if (kind == "llama3")
    rotary.divisors = llama3_divisors(rotary, where, settings);
  else if (kind != "default")
    fail(where, "default, linear or llama3", "'" + kind + "'", "this way to stretch the context is not supported");
  return rotary;
}

RotaryConfig rotary_from_folder(const FolderConfig& json, int64_t head_size, double usual_base) {
  RotaryConfig rotary;
  rotary.base = json.number("rope_theta", usual_base);
  rotary.size = rotated_values(json.where(), json.number("partial_rotary_factor", 1.0), head_size);
  const auto& settings = rotary_settings(json);
  return settings.is_null() ? rotary : rotary_from_settings(scaling_place(json), settings, rotary, head_size);
}

RotaryConfig rotary_from_gguf(const GgufSettings& settings, WeightSource& weights, int64_t head_size) {
  RotaryConfig rotary;
  rotary.base = settings.number("rope.freq_base", 10000.0);
  rotary.size = settings.count("rope.dimension_count", head_size);
  if (rotary.size > head_size || rotary.size % 2 != 0)
    fail(settings.place("rope.dimension_count"), fmt::format("an even number of at most {}", head_size),
         std::to_string(rotary.size));
  if (weights.has("rope_freqs.weight")) rotary.divisors = weights.tensor("rope_freqs.weight", {rotary.size / 2}, {});
  const auto kind = settings.text("rope.scaling.type", "none");
  if (kind == "linear")
    rotary.divisors = linear_divisors(rotary.size, settings.number("rope.scaling.factor"));
  else if (kind != "none" && kind != "longrope")
    fail(settings.place("rope.scaling.type"), "none or linear", "'" + kind + "'",
         "this way to stretch the context is not supported");
  return rotary;
}

double longrope_scale(double context_tokens, double original_tokens) {
  const double factor = context_tokens / original_tokens;
  return factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original_tokens));
}

}  // namespace fwl
