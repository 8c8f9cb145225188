#include "support/field.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
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

Field& Field::reads_file() {
  file_use = FileUse::read;
  return *this;
}

Field& Field::reads_texts() {
  file_use = FileUse::read_as_text;
  return *this;
}

Field& Field::writes_file() {
  file_use = FileUse::written;
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

std::vector<std::string> Field::texts() const {
  if (const auto* const* text = std::get_if<std::string*>(&target)) return {**text};
  if (const auto* const* list = std::get_if<std::vector<std::string>*>(&target)) return **list;
  return {};
}

void Field::set_text(std::string_view where, const std::string& text) {
  std::visit(Overloaded{[&](bool* slot) { *slot = parse_bool(where, *this, text); },
                        [&](int64_t* slot) { *slot = parse_number<int64_t>(where, *this, text); },
                        [&](double* slot) { *slot = parse_number<double>(where, *this, text); },
                        [&](std::string* slot) { *slot = text; },
                        [&](std::vector<std::string>* slot) { *slot = split_commas(text); },
                        [&](std::vector<int64_t>* slot) {
                          slot->clear();
                          for (const auto& part : split_commas(text))
                            slot->push_back(parse_number<int64_t>(where, *this, part));
                        }},
             target);
}

void Field::set_texts(std::string_view where, const std::vector<std::string>& texts) {
  if (auto** list = std::get_if<std::vector<std::string>*>(&target))
    **list = texts;
  else
    set_text(where, texts.back());
}

void Field::set_json(std::string_view where, const nlohmann::json& value) {
  try {
    std::visit(Overloaded{[&](bool* slot) {
                            if (!value.is_boolean()) reject(where, *this, value.dump());
                            *slot = value.get<bool>();
                          },
                          [&](int64_t* slot) {
                            if (!value.is_number_integer()) reject(where, *this, value.dump());
                            *slot = value.get<int64_t>();
                          },
                          [&](double* slot) {
                            if (!value.is_number()) reject(where, *this, value.dump());
                            *slot = value.get<double>();
                          },
                          [&](auto* slot) { value.get_to(*slot); }},
               target);
  } catch (const nlohmann::json::exception&) {
    reject(where, *this, value.dump());
  }
}

void Field::check(std::string_view where) const {
  std::visit(Overloaded{[&](const int64_t* value) { check_number(where, *this, static_cast<double>(*value)); },
                        [&](const double* value) { check_number(where, *this, *value); },
                        [&](const std::string* value) { check_text(where, *this, *value); },
                        [&](const std::vector<std::string>* values) {
                          for (const auto& value : *values) check_text(where, *this, value);
                        },
                        [&](const std::vector<int64_t>* values) {
                          for (auto value : *values) check_number(where, *this, static_cast<double>(value));
                        },
                        [](const bool*) {}},
             target);
}

nlohmann::json Field::to_json() const {
  return std::visit([](const auto* value) { return nlohmann::json(*value); }, target);
}

}  // namespace fwl
