#include <fmt/format.h>

#include "support/printable.h"
#include "template/builtins.h"
#include "template/print.h"
#include "template/text.h"

namespace fwl {
namespace {

using TextMethod = TemplateValue (*)(TemplateMeter&, const MarkedText&, const TemplateArguments&);

template <TextEnd where>
TemplateValue strip_method(TemplateMeter& meter, const MarkedText& text, const TemplateArguments& arguments) {
  const auto given = arguments_by_name(meter, "strip", arguments, {"chars"});
  meter.spend_bytes(text.size());
  if (is_undefined(given[0]) || is_none(given[0])) return text_value(text.part(strip_text(text.text(), where)));
  const auto& characters = text_argument(meter, "strip", given[0]);
  meter.spend(characters.size());
  return text_value(text.part(strip_text(text.text(), where, characters)));
}

template <auto function>
TemplateValue case_method(TemplateMeter& meter, const MarkedText& text, const TemplateArguments& arguments) {
  (void)arguments_by_name(meter, "this method", arguments, {});
  meter.spend_bytes(4 * text.size());
  return text_value(MarkedText::made_from(text, function(text.text())));
}

TemplateValue split_method(TemplateMeter& meter, const MarkedText& text, const TemplateArguments& arguments) {
  const auto given = arguments_by_name(meter, "split", arguments, {"sep", "maxsplit"});
  std::optional<std::string_view> separator;
  if (!is_undefined(given[0]) && !is_none(given[0])) separator = text_argument(meter, "split", given[0]);
  TemplateValues parts;
  for (const auto part : split_text(meter, text.text(), separator, integer_argument(meter, "split", given[1], -1)))
    parts.push_back(text_value(text.part(part)));
  return list_value(meter, std::move(parts));
}

// Whether a string, or any string of a tuple, passes.
template <class Passes>
bool any_affix(TemplateMeter& meter, const TemplateValue& affixes, Passes passes) {
  const auto* list = list_in(affixes);
  if (!list || !list->is_tuple) return passes(text_argument(meter, "startswith and endswith", affixes));
  for (const auto& affix : list->items) {
    meter.spend(1);
    if (passes(text_argument(meter, "startswith and endswith", affix))) return true;
  }
  return false;
}

TemplateValue startswith_method(TemplateMeter& meter, const MarkedText& text, const TemplateArguments& arguments) {
  const auto given = arguments_by_name(meter, "startswith", arguments, {"prefix"});
  return any_affix(meter, given[0], [&](const std::string& prefix) { return text.text().starts_with(prefix); });
}

TemplateValue endswith_method(TemplateMeter& meter, const MarkedText& text, const TemplateArguments& arguments) {
  const auto given = arguments_by_name(meter, "endswith", arguments, {"suffix"});
  return any_affix(meter, given[0], [&](const std::string& suffix) { return text.text().ends_with(suffix); });
}

TemplateValue replace_method(TemplateMeter& meter, const MarkedText& text, const TemplateArguments& arguments) {
  const auto given = arguments_by_name(meter, "replace", arguments, {"old", "new", "count"});
  const auto& part = text_argument(meter, "replace", given[0]);
  (void)text_argument(meter, "replace", given[1]);
  const auto most = integer_argument(meter, "replace", given[2], -1);
  return text_value(replace_text(meter, text, part, *marked_in(given[1]), most));
}

TemplateValue join_method(TemplateMeter& meter, const MarkedText& text, const TemplateArguments& arguments) {
  const auto given = arguments_by_name(meter, "join", arguments, {"items"});
  return filter_result(meter, "join", given[0], {.positional = {text_value(text)}});
}

const std::map<std::string, TextMethod, std::less<>>& text_methods() {
  static const std::map<std::string, TextMethod, std::less<>> methods = {
      {"capitalize", case_method<capitalized_text>},
      {"endswith", endswith_method},
      {"join", join_method},
      {"lower", case_method<lower_text>},
      {"lstrip", strip_method<TextEnd::start>},
      {"replace", replace_method},
      {"rstrip", strip_method<TextEnd::end>},
      {"split", split_method},
      {"startswith", startswith_method},
      {"strip", strip_method<TextEnd::both>},
      {"title", case_method<title_method_text>},
      {"upper", case_method<upper_text>},
  };
  return methods;
}

TemplateValue dict_method(TemplateMeter& meter, std::string_view name, const TemplateValue& value,
                          const TemplateArguments& arguments) {
  const auto& dict = *dict_in(value);
  if (name == "get") {
    const auto given = arguments_by_name(meter, name, arguments, {"key", "default"});
    meter.spend(1 + dict.entries.size() / 4);
    const auto* key = text_in(given[0]);
    if (const auto* found = key ? dict.find(*key) : nullptr) return *found;
    return is_undefined(given[1]) ? TemplateNone{} : given[1];
  }
  (void)arguments_by_name(meter, name, arguments, {});
  if (name == "items") return dict_items(meter, value);
  if (name == "keys") return list_value(meter, items_of(meter, value));
  if (name != "values") meter.fail("get, items, keys or values of a dict", "'" + printable(name) + "'");
  meter.spend(dict.entries.size());
  TemplateValues values;
  for (const auto& entry : dict.entries) values.push_back(entry.second);
  return list_value(meter, std::move(values));
}

}  // namespace

TemplateValue method_result(TemplateMeter& meter, std::string_view name, const TemplateValue& value,
                            const TemplateArguments& arguments) {
  if (dict_in(value)) return dict_method(meter, name, value, arguments);
  const auto* text = marked_in(value);
  const auto found = text_methods().find(name);
  if (!text || found == text_methods().end())
    meter.fail(fmt::format("a known method of {}", kind_of(value)), "'" + printable(name) + "'");
  return found->second(meter, *text, arguments);
}

TemplateValue dict_items(TemplateMeter& meter, const TemplateValue& value) {
  TemplateValues pairs;
  const auto* dict = dict_in(value);
  if (!dict && !is_undefined(value)) meter.fail("a dict", kind_of(value));
  if (dict) {
    meter.spend(8 * dict->entries.size());
    for (const auto& [key, item] : dict->entries)
      pairs.push_back(list_value(meter, {text_value(MarkedText::plain(key)), item}, /*is_tuple=*/true));
  }
  return list_value(meter, std::move(pairs));
}

}  // namespace fwl
