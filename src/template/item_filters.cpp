#include <fmt/format.h>

#include "template/builtins.h"
#include "template/operators.h"
#include "template/print.h"

namespace fwl {
namespace {

// a.b.c of an item, or item number n.
TemplateValue attribute_of(TemplateMeter& meter, TemplateValue item, const TemplateValue& path) {
  const auto* names = text_in(path);
  if (!names) return item_of(meter, item, path);
  std::string_view rest = *names;
  while (true) {
    const auto dot = rest.find('.');
    item = member_of(meter, item, rest.substr(0, dot));
    if (dot == std::string_view::npos) return item;
    rest.remove_prefix(dot + 1);
  }
}

// Removes the first argument and returns it.
TemplateValue taken_first(TemplateMeter& meter, std::string_view filter, TemplateArguments& arguments) {
  if (arguments.positional.empty()) meter.fail(fmt::format("an argument for {}", filter), "none");
  auto first = arguments.positional.front();
  arguments.positional.erase(arguments.positional.begin());
  return first;
}

}  // namespace

TemplateValue map_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments) {
  TemplateValues results;
  if (arguments.positional.empty()) {
    const auto given = arguments_by_name(meter, "map", arguments, {"attribute", "default"});
    if (is_undefined(given[0])) meter.fail("a filter or an attribute for map", "none");
    for (const auto& item : items_of(meter, value)) {
      const auto found = attribute_of(meter, item, given[0]);
      results.push_back(is_undefined(found) ? given[1] : found);
    }
  } else {
    meter.spend(arguments.positional.size());
    auto rest = arguments;
    const auto filter = taken_first(meter, "map", rest);
    const auto& name = text_argument(meter, "map", filter);
    const TemplateMeter::Level level(meter);  // map('map', 'map', …)
    for (const auto& item : items_of(meter, value)) results.push_back(filter_result(meter, name, item, rest));
  }
  return list_value(meter, std::move(results));
}

TemplateValue select_filter(TemplateMeter& meter, std::string_view name, const TemplateValue& value,
                            const TemplateArguments& arguments) {
  const bool looks_at_attribute = name.ends_with("attr"), keeps_passing = name.starts_with("select");
  auto rest = arguments;
  const auto path = looks_at_attribute ? taken_first(meter, name, rest) : TemplateValue();
  const bool has_test = !rest.positional.empty();
  const auto test = has_test ? taken_first(meter, name, rest) : TemplateValue();
  TemplateValues kept;
  for (const auto& item : items_of(meter, value)) {
    const auto looked_at = looks_at_attribute ? attribute_of(meter, item, path) : item;
    const bool passes =
        has_test ? test_result(meter, text_argument(meter, name, test), looked_at, rest) : is_true(looked_at);
    if (passes == keeps_passing) kept.push_back(item);
  }
  return list_value(meter, std::move(kept));
}

}  // namespace fwl
