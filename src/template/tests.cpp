#include <fmt/format.h>

#include "support/printable.h"
#include "template/builtins.h"
#include "template/operators.h"
#include "template/print.h"
#include "template/text.h"

namespace fwl {
namespace {

using TemplateTest = bool (*)(const TemplateValue&);

bool has_items(const TemplateValue& value) {
  return is_undefined(value) || text_in(value) || list_in(value) || dict_in(value);
}

const std::map<std::string, TemplateTest, std::less<>>& tests_of_one_value() {
  using Value = const TemplateValue&;
  static const std::map<std::string, TemplateTest, std::less<>> tests = {
      {"boolean", [](Value value) { return std::holds_alternative<bool>(value); }},
      {"callable",
       [](Value value) {
         return std::holds_alternative<const TemplateMacro*>(value) || std::holds_alternative<TemplateFunction>(value);
       }},
      {"defined", [](Value value) { return !is_undefined(value); }},
      {"false", [](Value value) { return std::holds_alternative<bool>(value) && !is_true(value); }},
      {"float", [](Value value) { return std::holds_alternative<double>(value); }},
      {"integer", [](Value value) { return std::holds_alternative<int64_t>(value); }},
      {"iterable", has_items},
      {"mapping", [](Value value) { return dict_in(value) != nullptr; }},
      {"none", is_none},
      {"number", [](Value value) { return number_in(value).has_value(); }},
      {"sequence", has_items},
      {"string", [](Value value) { return text_in(value) != nullptr; }},
      {"true", [](Value value) { return std::holds_alternative<bool>(value) && is_true(value); }},
      {"undefined", is_undefined},
  };
  return tests;
}

const std::map<std::string, std::string, std::less<>>& tests_that_compare() {
  static const std::map<std::string, std::string, std::less<>> tests = {
      {"eq", "=="}, {"equalto", "=="}, {"ne", "!="},         {"lt", "<"},  {"lessthan", "<"},
      {"le", "<="}, {"gt", ">"},       {"greaterthan", ">"}, {"ge", ">="}, {"in", "in"},
  };
  return tests;
}

bool has_rest(TemplateMeter& meter, const TemplateValue& value, const TemplateValue& divisor, int64_t rest) {
  return are_equal(meter, arithmetic_result(meter, "%", value, divisor), rest);
}

}  // namespace

bool test_result(TemplateMeter& meter, std::string_view name, const TemplateValue& value,
                 const TemplateArguments& arguments) {
  meter.spend(1);
  if (const auto found = tests_of_one_value().find(name); found != tests_of_one_value().end()) {
    (void)arguments_by_name(meter, name, arguments, {});
    return found->second(value);
  }
  if (name == "even") return has_rest(meter, value, int64_t{2}, 0);
  if (name == "odd") return has_rest(meter, value, int64_t{2}, 1);
  if (name == "lower" || name == "upper") {
    const auto text = printed(meter, value).text();
    const auto lower = lower_text(text), upper = upper_text(text);
    return lower != upper && text == (name == "lower" ? lower : upper);
  }
  if (name == "divisibleby") return has_rest(meter, value, arguments_by_name(meter, name, arguments, {"num"})[0], 0);
  const auto found = tests_that_compare().find(name);
  if (found == tests_that_compare().end()) meter.fail("a known test", "'" + printable(name) + "'");
  return comparison_result(meter, found->second, value, arguments_by_name(meter, name, arguments, {"other"})[0]);
}

}  // namespace fwl
