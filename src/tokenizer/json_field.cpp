#include "tokenizer/json_field.h"

#include <fmt/format.h>

#include <type_traits>

#include "support/error.h"
#include "support/json.h"

namespace fwl {
namespace {

template <class T>
T convert(const std::string& where, const nlohmann::json& value, const char* name) {
  const bool fits = std::is_same_v<T, bool>     ? value.is_boolean()
                    : std::is_same_v<T, double> ? value.is_number()
                                                : value.is_string();
  const auto* expected = std::is_same_v<T, bool>     ? "true or false"
                         : std::is_same_v<T, double> ? "a number"
                                                     : "a string";
  if (!fits) fail(fmt::format("{}: {}", where, name), expected, value.type_name());
  return value.get<T>();
}

}  // namespace

nlohmann::json parse_json_object(const std::string& where, std::string_view text) {
  auto value = parse_json(where, text);
  if (!value.is_object()) fail(where, "a JSON object", value.type_name());
  return value;
}

const nlohmann::json& json_member(const std::string& where, const nlohmann::json& object, const char* name) {
  if (!object.is_object()) fail(where, fmt::format("an object with the field {}", name), object.type_name());
  const auto found = object.find(name);
  if (found == object.end()) fail(where, fmt::format("the field {}", name), "none");
  return *found;
}

const nlohmann::json& json_or_null(const nlohmann::json& object, const char* name) {
  static const nlohmann::json null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

std::string json_number_or_kind(const nlohmann::json& value) {
  return value.is_number() ? value.dump() : value.type_name();
}

template <class T>
T json_field(const std::string& where, const nlohmann::json& object, const char* name) {
  return convert<T>(where, json_member(where, object, name), name);
}

template <class T>
T json_field(const std::string& where, const nlohmann::json& object, const char* name, T otherwise) {
  if (!object.is_object()) fail(where, "an object", object.type_name());
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? otherwise : convert<T>(where, *found, name);
}

template bool json_field(const std::string&, const nlohmann::json&, const char*);
template double json_field(const std::string&, const nlohmann::json&, const char*);
template std::string json_field(const std::string&, const nlohmann::json&, const char*);
template bool json_field(const std::string&, const nlohmann::json&, const char*, bool);
template double json_field(const std::string&, const nlohmann::json&, const char*, double);
template std::string json_field(const std::string&, const nlohmann::json&, const char*, std::string);

std::pair<std::string, std::string> split_merge(const std::string& where, std::string_view merge) {
  const auto space = merge.find(' ');
  const bool is_pair = space != std::string_view::npos && space > 0 && space + 1 < merge.size() &&
                       merge.find(' ', space + 1) == std::string_view::npos;
  if (!is_pair) fail(where, "two tokens separated by a space", fmt::format("'{}'", merge.substr(0, 80)));
  return {std::string(merge.substr(0, space)), std::string(merge.substr(space + 1))};
}

}  // namespace fwl
