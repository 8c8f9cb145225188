#include "support/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <charconv>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/error.h"
#include "support/near_name.h"

namespace fwl {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

std::string bounds_text(const Field& field) {
  const bool has_low = std::isfinite(field.low), has_high = std::isfinite(field.high);
  if (has_low && has_high) return fmt::format(" {} to {}", field.low, field.high);
  if (has_low) return fmt::format(" >= {}", field.low);
  if (has_high) return fmt::format(" <= {}", field.high);
  return {};
}

std::string expected_text(const Field& field) {
  const auto kind = std::visit(
      Overloaded{[](const bool*) { return "true or false"; }, [](const int64_t*) { return "a whole number"; },
                 [](const double*) { return "a number"; }, [](const std::string*) { return "a text"; },
                 [](const std::vector<std::string>*) { return "a list of texts"; },
                 [](const std::vector<int64_t>*) { return "a list of whole numbers"; }},
      field.target);
  if (!field.allowed.empty()) return fmt::format("one of {}", fmt::join(field.allowed, ", "));
  return kind + bounds_text(field);
}

std::string dashed(std::string name) {
  for (auto& letter : name)
    if (letter == '_') letter = '-';
  return "--" + name;
}

[[noreturn]] void reject(std::string_view where, const Field& field, const std::string& got,
                         const std::string& cause = {}) {
  fail(fmt::format("{}: {}", where, field.name), expected_text(field), got, cause);
}

void check_number(std::string_view where, const Field& field, double value) {
  if (!(value >= field.low && value <= field.high)) reject(where, field, fmt::format("{}", value));
}

void check_text(std::string_view where, const Field& field, const std::string& value) {
  if (field.allowed.empty()) return;
  for (const auto& allowed : field.allowed)
    if (allowed == value) return;
  reject(where, field, fmt::format("'{}'", value), did_you_mean(value, field.allowed));
}

template <class Number>
Number parse_number(std::string_view where, const Field& field, const std::string& text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) reject(where, field, fmt::format("'{}'", text));
  return value;
}

bool parse_bool(std::string_view where, const Field& field, const std::string& text) {
  if (text == "true" || text == "1" || text == "on" || text == "yes") return true;
  if (text == "false" || text == "0" || text == "off" || text == "no") return false;
  reject(where, field, fmt::format("'{}'", text));
}

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

template <class T>
toml::array toml_array(const std::vector<T>& values) {
  toml::array array;
  for (const auto& value : values) array.push_back(value);
  return array;
}

nlohmann::json to_json(const toml::node& node) {
  std::ostringstream out;
  if (const auto* table = node.as_table()) out << toml::json_formatter{*table};
  return nlohmann::json::parse(out.str());
}

void set_value(std::string_view where, Field& field, const nlohmann::json& value) {
  try {
    std::visit(Overloaded{[&](bool* target) {
                            if (!value.is_boolean()) reject(where, field, value.dump());
                            *target = value.get<bool>();
                          },
                          [&](int64_t* target) {
                            if (!value.is_number_integer()) reject(where, field, value.dump());
                            *target = value.get<int64_t>();
                          },
                          [&](double* target) {
                            if (!value.is_number()) reject(where, field, value.dump());
                            *target = value.get<double>();
                          },
                          [&](auto* target) { value.get_to(*target); }},
               field.target);
  } catch (const nlohmann::json::exception&) {
    reject(where, field, value.dump());
  }
}

}  // namespace

Field& Field::range(double lowest, double highest) {
  low = lowest;
  high = highest;
  return *this;
}
Field& Field::at_least(double lowest) {
  low = lowest;
  return *this;
}
Field& Field::choices(std::vector<std::string> values) {
  allowed = std::move(values);
  return *this;
}
Field& Field::required() {
  is_required = true;
  return *this;
}
Field& Field::positional() {
  is_positional = true;
  return *this;
}
Field& Field::short_name(std::string letter) {
  short_flag = std::move(letter);
  return *this;
}

Field& Field::alias(std::string other_name) {
  aliases.push_back(std::move(other_name));
  return *this;
}

std::string Field::flag() const {
  return dashed(name);
}

std::vector<std::string> Field::flags() const {
  std::vector<std::string> all = {flag()};
  for (const auto& other : aliases) all.push_back(dashed(other));
  if (!short_flag.empty()) all.push_back("-" + short_flag);
  return all;
}

std::string Field::type_name() const {
  if (!allowed.empty()) return fmt::format("{{{}}}", fmt::join(allowed, ","));
  const auto kind =
      std::visit(Overloaded{[](const bool*) { return ""; }, [](const int64_t*) { return "INT"; },
                            [](const double*) { return "FLOAT"; }, [](const std::string*) { return "TEXT"; },
                            [](const std::vector<std::string>*) { return "TEXT …"; },
                            [](const std::vector<int64_t>*) { return "INT,…"; }},
                 target);
  return kind + bounds_text(*this);
}

std::string Field::default_text() const {
  return std::visit(Overloaded{[](const bool* value) { return std::string(*value ? "true" : "false"); },
                               [](const int64_t* value) { return fmt::format("{}", *value); },
                               [](const double* value) { return fmt::format("{}", *value); },
                               [](const std::string* value) { return *value; },
                               [](const auto* value) { return fmt::format("{}", fmt::join(*value, ",")); }},
                    target);
}

Field* Fields::find(std::string_view name) {
  for (auto& field : fields_)
    if (field.name == name) return &field;
  return nullptr;
}

std::vector<std::string> Fields::names() const {
  std::vector<std::string> all;
  for (const auto& field : fields_) all.push_back(field.name);
  return all;
}

Field& Fields::find_or_fail(std::string_view where, std::string_view name) {
  if (auto* field = find(name)) return *field;
  fail(where, "a known key", fmt::format("'{}'", name), did_you_mean(name, names()));
}

void Fields::set_text(std::string_view where, std::string_view name, const std::string& value) {
  auto& field = find_or_fail(where, name);
  std::visit(Overloaded{[&](bool* target) { *target = parse_bool(where, field, value); },
                        [&](int64_t* target) { *target = parse_number<int64_t>(where, field, value); },
                        [&](double* target) { *target = parse_number<double>(where, field, value); },
                        [&](std::string* target) { *target = value; },
                        [&](std::vector<std::string>* target) { *target = split_commas(value); },
                        [&](std::vector<int64_t>* target) {
                          target->clear();
                          for (const auto& part : split_commas(value))
                            target->push_back(parse_number<int64_t>(where, field, part));
                        }},
             field.target);
}

void Fields::set_json(std::string_view where, const nlohmann::json& object) {
  const std::function<void(const std::string&, const nlohmann::json&)> walk = [&](const std::string& prefix,
                                                                                  const nlohmann::json& node) {
    for (const auto& [key, value] : node.items()) {
      const auto name = prefix + key;
      if (value.is_object())
        walk(name + ".", value);
      else
        set_value(where, find_or_fail(where, name), value);
    }
  };
  walk("", object);
}

void Fields::load_toml(const std::string& path) {
  try {
    set_json(path, fwl::to_json(toml::parse_file(path)));
  } catch (const toml::parse_error& error) {
    const auto at = error.source().begin;
    throw UserError(fmt::format("{}:{}:{}: {}", path, at.line, at.column, error.description()));
  }
}

nlohmann::json Fields::to_json() const {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& field : fields_) {
    auto* node = &object;
    const auto parts = [&] {
      std::vector<std::string> names;
      std::istringstream stream(field.name);
      for (std::string part; std::getline(stream, part, '.');) names.push_back(part);
      return names;
    }();
    for (const auto& part : parts) node = &(*node)[part];
    std::visit([&](const auto* value) { *node = *value; }, field.target);
  }
  return object;
}

std::string Fields::to_toml() const {
  toml::table root;
  for (const auto& field : fields_) {
    auto* table = &root;
    std::string_view key = field.name;
    for (size_t dot = key.find('.'); dot != key.npos; dot = key.find('.')) {
      table = table->insert(key.substr(0, dot), toml::table{}).first->second.as_table();
      key.remove_prefix(dot + 1);
    }
    std::visit(Overloaded{[&](const std::vector<std::string>* values) { table->insert(key, toml_array(*values)); },
                          [&](const std::vector<int64_t>* values) { table->insert(key, toml_array(*values)); },
                          [&](const auto* value) { table->insert(key, *value); }},
               field.target);
  }
  std::ostringstream out;
  out << toml::toml_formatter{root} << '\n';
  return out.str();
}

void Fields::check(std::string_view where) const {
  for (const auto& field : fields_) {
    std::visit(Overloaded{[&](const int64_t* value) { check_number(where, field, static_cast<double>(*value)); },
                          [&](const double* value) { check_number(where, field, *value); },
                          [&](const std::string* value) { check_text(where, field, *value); },
                          [&](const std::vector<std::string>* values) {
                            for (const auto& value : *values) check_text(where, field, value);
                          },
                          [&](const std::vector<int64_t>* values) {
                            for (auto value : *values) check_number(where, field, static_cast<double>(value));
                          },
                          [](const bool*) {}},
               field.target);
  }
}

}  // namespace fwl
