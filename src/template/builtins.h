// The filters, tests, methods and functions that templates can use.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "template/value.h"

namespace fwl {

struct TemplateArguments {
  TemplateValues positional = {};
  std::vector<std::pair<std::string, TemplateValue>> named = {};
};

// The arguments in the order of `names`; missing ones are undefined. Throws a UserError for any others.
TemplateValues arguments_by_name(TemplateMeter& meter, std::string_view function, const TemplateArguments& arguments,
                                 std::initializer_list<std::string_view> names);

// A required string argument, and an optional integer argument.
const std::string& text_argument(TemplateMeter& meter, std::string_view function, const TemplateValue& value);
int64_t integer_argument(TemplateMeter& meter, std::string_view function, const TemplateValue& value,
                         int64_t otherwise);

// value | name(arguments)
TemplateValue filter_result(TemplateMeter& meter, std::string_view name, const TemplateValue& value,
                            const TemplateArguments& arguments);

// Filters that act on each item: map, select, reject, selectattr, rejectattr.
TemplateValue map_filter(TemplateMeter& meter, const TemplateValue& value, const TemplateArguments& arguments);
TemplateValue select_filter(TemplateMeter& meter, std::string_view name, const TemplateValue& value,
                            const TemplateArguments& arguments);

// value is name(arguments)
bool test_result(TemplateMeter& meter, std::string_view name, const TemplateValue& value,
                 const TemplateArguments& arguments);

// value.name(arguments), for strings and dicts.
TemplateValue method_result(TemplateMeter& meter, std::string_view name, const TemplateValue& value,
                            const TemplateArguments& arguments);

// range(…) and strftime_now(…)
TemplateValue range_result(TemplateMeter& meter, const TemplateArguments& arguments);
TemplateValue time_text(TemplateMeter& meter, const TemplateArguments& arguments);

// The key-value pairs of a dict; empty for undefined.
TemplateValue dict_items(TemplateMeter& meter, const TemplateValue& value);

}  // namespace fwl
