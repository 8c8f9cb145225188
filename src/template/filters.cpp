#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "support/printable.h"
#include "template/builtins.h"
#include "template/operators.h"
#include "template/print.h"
#include "template/text.h"

namespace fwl {
namespace {

using TemplateFilter = TemplateValue (*)(TemplateMeter&, const TemplateValue&, const TemplateArguments&);

void expect_no_arguments(TemplateMeter& meter, const TemplateArguments& arguments) {
  (void)arguments_by_name(meter, "this filter", arguments, {});
}

// For filters of strings; other values are converted to strings first.
template <auto function>
TemplateValue text_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  expect_no_arguments(meter, arguments);
  const auto text = printed(meter, value);
  meter.spend_bytes(4 * text.size());
  return text_value(MarkedText::made_from(text, function(text.text())));
}

TemplateValue string_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  expect_no_arguments(meter, arguments);
  return text_value(printed(meter, value));
}

TemplateValue trim_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  const auto given = arguments_by_name(meter, "trim", arguments, {"chars"});
  const auto text = printed(meter, value);
  if (is_undefined(given[0]) || is_none(given[0])) return text_value(text.part(strip_text(text.text(), TextEnd::both)));
  const auto& characters = text_argument(meter, "trim", given[0]);
  meter.spend(characters.size());
  return text_value(text.part(strip_text(text.text(), TextEnd::both, characters)));
}

TemplateValue length_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  expect_no_arguments(meter, arguments);
  if (const auto* list = list_in(value)) return static_cast<int64_t>(list->items.size());
  if (const auto* dict = dict_in(value)) return static_cast<int64_t>(dict->entries.size());
  if (is_undefined(value)) return int64_t{0};
  const auto* text = text_in(value);
  if (!text) meter.fail("a value with a length", kind_of(value));
  meter.spend_bytes(text->size());
  return static_cast<int64_t>(count_characters(*text));
}

TemplateValue join_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  const auto given = arguments_by_name(meter, "join", arguments, {"d", "attribute"});
  const auto separator = printed(meter, given[0]);
  MarkedText result;
  bool is_first = true;
  for (const auto& item : items_of(meter, value)) {
    if (!is_first) result += separator;
    is_first = false;
    result += printed(meter, is_undefined(given[1]) ? item : item_of(meter, item, given[1]));
    meter.spend(1 + separator.size() / 16);
  }
  return text_value(std::move(result));
}

TemplateValue first_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  expect_no_arguments(meter, arguments);
  const auto items = items_of(meter, value);
  return items.empty() ? TemplateValue() : items.front();
}

TemplateValue last_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  expect_no_arguments(meter, arguments);
  const auto items = items_of(meter, value);
  return items.empty() ? TemplateValue() : items.back();
}

TemplateValue default_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  const auto given = arguments_by_name(meter, "default", arguments, {"default_value", "boolean"});
  const bool is_missing = is_undefined(value) || (is_true(given[1]) && !is_true(value));
  if (!is_missing) return value;
  return is_undefined(given[0]) ? text_value({}) : given[0];
}

TemplateValue tojson_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  const auto given = arguments_by_name(meter, "tojson", arguments, {"ensure_ascii", "indent"});
  if (is_true(given[0])) meter.fail("tojson without ensure_ascii", "with");
  if (is_undefined(given[1]) || is_none(given[1])) return text_value(json_text(meter, value));
  return text_value(json_text(meter, value, integer_argument(meter, "tojson", given[1], 0)));
}

TemplateValue replace_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  const auto given = arguments_by_name(meter, "replace", arguments, {"old", "new", "count"});
  const auto part = printed(meter, given[0]), by = printed(meter, given[1]);
  const auto most = integer_argument(meter, "replace", given[2], -1);
  return text_value(replace_text(meter, printed(meter, value), part.text(), by, most));
}

std::optional<double> parsed_number(std::string_view text) {
  text = strip_text(text, TextEnd::both);
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

TemplateValue int_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  const auto given = arguments_by_name(meter, "int", arguments, {"default"});
  if (is_undefined(value)) meter.fail("a value", "undefined");
  if (const auto integer = integer_in(value)) return *integer;
  const auto* text = text_in(value);
  const auto number = text ? parsed_number(*text) : number_in(value);
  if (number && std::abs(*number) < 9e15) return static_cast<int64_t>(*number);
  return is_undefined(given[0]) ? int64_t{0} : given[0];
}

TemplateValue float_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  const auto given = arguments_by_name(meter, "float", arguments, {"default"});
  if (is_undefined(value)) meter.fail("a value", "undefined");
  const auto* text = text_in(value);
  if (const auto number = text ? parsed_number(*text) : number_in(value)) return *number;
  return is_undefined(given[0]) ? 0.0 : given[0];
}

TemplateValue list_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  expect_no_arguments(meter, arguments);
  return list_value(meter, items_of(meter, value));
}

TemplateValue reverse_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  expect_no_arguments(meter, arguments);
  const TemplateNone none;
  return slice_of(meter, text_in(value) ? value : list_value(meter, items_of(meter, value)), none, none, int64_t{-1});
}

TemplateValue items_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  expect_no_arguments(meter, arguments);
  return dict_items(meter, value);
}

template <const char* name>
TemplateValue named_select(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  return select_filter(meter, name, value, arguments);
}

constexpr char select_name[] = "select", reject_name[] = "reject";
constexpr char selectattr_name[] = "selectattr", rejectattr_name[] = "rejectattr";

const std::map<std::string, TemplateFilter, std::less<>>& known_filters() {
  static const std::map<std::string, TemplateFilter, std::less<>> filters = {
      {"capitalize", text_filter<capitalized_text>},
      {"count", length_filter},
      {"d", default_filter},
      {"default", default_filter},
      {"first", first_filter},
      {"float", float_filter},
      {"int", int_filter},
      {"items", items_filter},
      {"join", join_filter},
      {"last", last_filter},
      {"length", length_filter},
      {"list", list_filter},
      {"lower", text_filter<lower_text>},
      {"map", map_filter},
      {"reject", named_select<reject_name>},
      {"rejectattr", named_select<rejectattr_name>},
      {"replace", replace_filter},
      {"reverse", reverse_filter},
      {"safe", string_filter},
      {"select", named_select<select_name>},
      {"selectattr", named_select<selectattr_name>},
      {"string", string_filter},
      {"title", text_filter<title_filter_text>},
      {"tojson", tojson_filter},
      {"trim", trim_filter},
      {"upper", text_filter<upper_text>},
  };
  return filters;
}

}  // namespace

TemplateValue filter_result(TemplateMeter& meter, std::string_view name, const TemplateValue& value,
                            const TemplateArguments& arguments) {
  const auto found = known_filters().find(name);
  if (found == known_filters().end()) meter.fail("a known filter", "'" + printable(name) + "'");
  return found->second(meter, value, arguments);
}

}  // namespace fwl
