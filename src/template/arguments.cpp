#include <fmt/format.h>

#include <algorithm>

#include "support/printable.h"
#include "template/builtins.h"

namespace fwl {

TemplateValues arguments_by_name(TemplateMeter& meter, std::string_view function, const TemplateArguments& arguments,
                                 std::initializer_list<std::string_view> names) {
  if (arguments.positional.size() > names.size())
    meter.fail(fmt::format("at most {} arguments for {}", names.size(), function),
               fmt::format("{}", arguments.positional.size()));
  auto values = arguments.positional;
  values.resize(names.size());
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) meter.fail(fmt::format("an argument of {}", function), "'" + printable(name) + "'");
    values[static_cast<size_t>(found - names.begin())] = value;
  }
  return values;
}

const std::string& text_argument(TemplateMeter& meter, std::string_view function, const TemplateValue& value) {
  const auto* text = text_in(value);
  if (!text) meter.fail(fmt::format("a string for {}", function), kind_of(value));
  return *text;
}

int64_t integer_argument(TemplateMeter& meter, std::string_view function, const TemplateValue& value,
                         int64_t otherwise) {
  if (is_undefined(value) || is_none(value)) return otherwise;
  const auto integer = integer_in(value);
  if (!integer) meter.fail(fmt::format("an integer for {}", function), kind_of(value));
  return *integer;
}

}  // namespace fwl
