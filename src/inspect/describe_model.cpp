#include "inspect/describe_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

namespace fwl {
namespace {

using nlohmann::json;

// The shortest decimal that rounds to this float: 1e-05 rather than 9.999999747378752e-06.
double shortest(float number) {
  return std::isfinite(number) ? std::strtod(fmt::format("{}", number).c_str(), nullptr) : number;
}

json to_json(const GgufValue& value, size_t longest_array);
json to_json(const GgufArray& array, size_t longest_array);

json element_json(const GgufArray& array, size_t index, size_t longest_array) {
  if (array.kind == GgufKind::text) return array.texts[index];
  if (array.kind == GgufKind::array) return to_json(array.arrays[index], longest_array);
  return to_json(element(array, index), longest_array);
}

json to_json(const GgufArray& array, size_t longest_array) {
  auto elements = json::array();
  const auto shown = std::min<uint64_t>(array.count, longest_array);
  for (size_t i = 0; i < shown; ++i) elements.push_back(element_json(array, i, longest_array));
  if (shown == array.count) return elements;
  return {{"kind", to_string(array.kind)}, {"count", array.count}, {"first", std::move(elements)}};
}

json to_json(const GgufValue& value, size_t longest_array) {
  if (const auto* array = std::get_if<GgufArray>(&value.data)) return to_json(*array, longest_array);
  if (const auto* text = std::get_if<std::string_view>(&value.data)) return *text;
  if (const auto* number = std::get_if<uint64_t>(&value.data)) return *number;
  if (const auto* number = std::get_if<int64_t>(&value.data)) return *number;
  if (const auto* number = std::get_if<double>(&value.data))
    return value.kind == GgufKind::float32 ? shortest(static_cast<float>(*number)) : *number;
  return std::get<bool>(value.data);
}

json tensor_json(std::string_view name, std::string_view type, const std::vector<int64_t>& shape, int64_t values,
                 size_t bytes) {
  return {{"name", name}, {"type", type}, {"shape", shape}, {"values", values}, {"bytes", bytes}};
}

json tensor_json(const TensorView& tensor) {
  const auto values = std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies());
  return tensor_json(tensor.name, to_string(tensor.dtype), tensor.shape, values, tensor.bytes.size());
}

// Adds totals over "tensors", overall and by type.
void add_totals(json& description) {
  std::map<std::string, std::array<int64_t, 3>> types;
  std::array<int64_t, 3> sums = {};
  for (const auto& tensor : description["tensors"]) {
    auto& of_type = types[tensor["type"]];
    const std::array<int64_t, 3> one = {1, tensor["values"], tensor["bytes"]};
    for (size_t i = 0; i < one.size(); ++i) {
      of_type[i] += one[i];
      sums[i] += one[i];
    }
  }
  const auto counts = [](const std::array<int64_t, 3>& sum) {
    return json{{"tensors", sum[0]}, {"parameters", sum[1]}, {"bytes", sum[2]}};
  };
  auto& totals = description["totals"] = counts(sums);
  totals["types"] = json::object();
  for (const auto& [type, sum] : types) totals["types"][type] = counts(sum);
}

}  // namespace

json describe(const GgufFile& file, size_t longest_array) {
  json description = {
      {"format", "GGUF"}, {"version", file.version()}, {"metadata", json::object()}, {"tensors", json::array()}};
  for (const auto& [key, value] : file.metadata())
    description["metadata"][std::string(key)] = to_json(value, longest_array);
  for (const auto& tensor : file.tensors())
    description["tensors"].push_back(
        tensor_json(tensor.name, info(tensor.type).name, tensor.shape, tensor.values, tensor.bytes.size()));
  add_totals(description);
  return description;
}

json describe(const SafetensorsFile& file) {
  json description = {{"format", "safetensors"}, {"metadata", file.metadata()}, {"tensors", json::array()}};
  for (const auto& tensor : file.tensors()) description["tensors"].push_back(tensor_json(tensor));
  add_totals(description);
  return description;
}

json describe(const HuggingFaceFolder& folder) {
  json description = {{"format", "Hugging Face folder"},
                      {"files", folder.shards().size()},
                      {"metadata", folder.config()},
                      {"tensors", json::array()}};
  for (const auto& name : folder.names()) description["tensors"].push_back(tensor_json(folder.tensor(name)));
  add_totals(description);
  return description;
}

}  // namespace fwl
