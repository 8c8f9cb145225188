#include "support/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/error.h"
#include "support/near_name.h"

namespace fwl {
namespace {

nlohmann::json to_json(const toml::node& node) {
  std::ostringstream out;
  if (const auto* table = node.as_table()) out << toml::json_formatter{*table};
  return nlohmann::json::parse(out.str());
}

toml::array to_array(const nlohmann::json& list) {
  toml::array array;
  for (const auto& value : list)
    value.is_string() ? array.push_back(value.get<std::string>()) : array.push_back(value.get<int64_t>());
  return array;
}

toml::table to_table(const nlohmann::json& object) {
  toml::table table;
  for (const auto& [key, value] : object.items()) {
    if (value.is_object())
      table.insert(key, to_table(value));
    else if (value.is_array())
      table.insert(key, to_array(value));
    else if (value.is_boolean())
      table.insert(key, value.get<bool>());
    else if (value.is_number_integer())
      table.insert(key, value.get<int64_t>());
    else if (value.is_number())
      table.insert(key, value.get<double>());
    else
      table.insert(key, value.get<std::string>());
  }
  return table;
}

}  // namespace

void Fields::add_choice(const Field& chooser, const std::string& choice, const Fields& own, bool may_be_unused) {
  for (auto field : own.fields_) {
    field.chooser = std::get<std::string*>(chooser.target);
    field.choice = choice;
    field.may_be_unused = may_be_unused;
    fields_.push_back(std::move(field));
  }
}

std::vector<std::string> Fields::names() const {
  std::vector<std::string> all;
  for (const auto& field : fields_)
    if (std::ranges::find(all, field.name) == all.end()) all.push_back(field.name);
  return all;
}

std::vector<std::string> Fields::choices_with(std::string_view name) const {
  std::vector<std::string> choices;
  for (const auto& field : fields_)
    if (field.name == name && field.chooser) choices.push_back(field.choice);
  return choices;
}

const Field* Fields::chooser_of(const Field& field) const {
  for (const auto& other : fields_) {
    const auto* text = std::get_if<std::string*>(&other.target);
    if (field.chooser && text && *text == field.chooser) return &other;
  }
  return nullptr;
}

std::vector<Field> Fields::shown() const {
  std::vector<Field> result;
  for (const auto& name : names()) {
    const auto is_named = [&](const Field& field) { return field.name == name; };
    const auto counting =
        std::ranges::find_if(fields_, [&](const Field& field) { return is_named(field) && field.counts(); });
    auto field = counting != fields_.end() ? *counting : *std::ranges::find_if(fields_, is_named);
    if (const auto* chooser = chooser_of(field)) {
      const auto choices = choices_with(name);
      if (choices.size() < chooser->allowed.size())
        field.help = fmt::format("{}: {}", fmt::join(choices, ", "), field.help);
    }
    result.push_back(std::move(field));
  }
  return result;
}

std::vector<Field*> Fields::find_or_fail(std::string_view where, std::string_view name) {
  std::vector<Field*> found;
  for (auto& field : fields_)
    if (field.name == name) found.push_back(&field);
  if (found.empty()) fail(where, "a known key", fmt::format("'{}'", name), did_you_mean(name, names()));
  for (auto* field : found) field->set_by = where;
  return found;
}

void Fields::set_text(std::string_view where, std::string_view name, const std::string& value) {
  for (auto* field : find_or_fail(where, name)) field->set_text(where, value);
}

void Fields::set_texts(std::string_view where, std::string_view name, const std::vector<std::string>& values) {
  for (auto* field : find_or_fail(where, name)) field->set_texts(where, values);
}

void Fields::set_json(std::string_view where, const nlohmann::json& object) {
  const std::function<void(const std::string&, const nlohmann::json&)> walk = [&](const std::string& prefix,
                                                                                  const nlohmann::json& node) {
    for (const auto& [key, value] : node.items()) {
      const auto name = prefix + key;
      if (value.is_object())
        walk(name + ".", value);
      else
        for (auto* field : find_or_fail(where, name)) field->set_json(where, value);
    }
  };
  walk("", object);
}

void Fields::load_toml(const std::string& where, std::string_view text) {
  try {
    set_json(where, fwl::to_json(toml::parse(text, where)));
  } catch (const toml::parse_error& error) {
    const auto at = error.source().begin;
    throw UserError(fmt::format("{}:{}:{}: {}", where, at.line, at.column, error.description()));
  } catch (const nlohmann::json::exception&) {  // of a value that JSON has no words for
    fail(where, "finite numbers, texts, truth values and lists of them", "another value");
  }
}

nlohmann::json Fields::to_json() const {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& field : fields_) {
    if (!field.counts()) continue;
    auto* node = &object;
    const auto parts = [&] {
      std::vector<std::string> names;
      std::istringstream stream(field.name);
      for (std::string part; std::getline(stream, part, '.');) names.push_back(part);
      return names;
    }();
    for (const auto& part : parts) node = &(*node)[part];
    *node = field.to_json();
  }
  return object;
}

std::string Fields::to_toml() const {
  std::ostringstream out;
  // Leading line breaks and control characters do not come back from the formatter's other kinds of strings.
  const auto unsafe = toml::format_flags::allow_multi_line_strings | toml::format_flags::allow_literal_strings;
  const auto flags = toml::toml_formatter::default_flags & ~unsafe;
  out << toml::toml_formatter{to_table(to_json()), flags} << '\n';
  return out.str();
}

void Fields::check(std::string_view where) const {
  for (const auto& field : fields_)
    if (field.counts())
      field.check(where);
    else
      check_is_default(field);
}

// A value for a field that does not count would be lost in silence.
void Fields::check_is_default(const Field& field) const {
  const auto counts = [&](const Field& other) { return other.name == field.name && other.counts(); };
  if (field.set_by.empty() || field.may_be_unused || std::ranges::any_of(fields_, counts)) return;
  fail(field.set_by, fmt::format("a key that {} {} has", chooser_of(field)->name, *field.chooser),
       fmt::format("'{}'", field.name), fmt::format("only {} has it", fmt::join(choices_with(field.name), ", ")));
}

}  // namespace fwl
