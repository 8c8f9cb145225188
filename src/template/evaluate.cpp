#include <fmt/format.h>

#include "support/printable.h"
#include "template/operators.h"
#include "template/print.h"
#include "template/renderer.h"

namespace fwl {
namespace {

// The functions that every template knows, unless it gives their names to something else. Undefined for other names.
TemplateValue function_named(std::string_view name) {
  if (name == "range") return TemplateFunction::range;
  if (name == "strftime_now") return TemplateFunction::strftime_now;
  if (name == "namespace") return TemplateFunction::new_namespace;
  if (name == "dict") return TemplateFunction::dict;
  if (name == "raise_exception") return TemplateFunction::raise_exception;
  return {};
}

}  // namespace

TemplateValue TemplateRenderer::evaluate(const Expression& expression, const TemplateScope& scope) {
  const TemplateMeter::Level level(meter_);
  meter_.spend(1);
  meter_.set_line(expression.line);
  switch (expression.kind) {
    case Expression::Kind::literal:
      return expression.value;
    case Expression::Kind::name: {
      const auto* found = scope.find(expression.text);
      return found ? *found : function_named(expression.text);
    }
    case Expression::Kind::logical_and:
    case Expression::Kind::logical_or: {
      auto left = evaluate(*expression.parts[0], scope);
      const bool decides = is_true(left) == (expression.kind == Expression::Kind::logical_or);
      return decides ? left : evaluate(*expression.parts[1], scope);
    }
    case Expression::Kind::conditional: {
      if (is_true(evaluate(*expression.parts[1], scope))) return evaluate(*expression.parts[0], scope);
      return expression.parts[2] ? evaluate(*expression.parts[2], scope) : TemplateValue();
    }
    case Expression::Kind::list:
    case Expression::Kind::tuple:
    case Expression::Kind::dict:
    case Expression::Kind::concatenation:
      return evaluate_collection(expression, scope);
    case Expression::Kind::comparison:
      return evaluate_comparison(expression, scope);
    case Expression::Kind::slice:
      return evaluate_slice(expression, scope);
    case Expression::Kind::call:
      return evaluate_call(expression, scope);
    default:
      return evaluate_operation(expression, scope);
  }
}

TemplateValue TemplateRenderer::evaluate_operation(const Expression& expression, const TemplateScope& scope) {
  const auto& text = expression.text;
  const auto first = evaluate(*expression.parts[0], scope);
  switch (expression.kind) {
    case Expression::Kind::member: {
      meter_.set_line(expression.line);
      if (is_undefined(first) && expression.parts[0]->kind == Expression::Kind::name)
        meter_.fail(fmt::format("a value of '{}'", printable(expression.parts[0]->text)), "undefined");
      return member_of(meter_, first, text);
    }
    case Expression::Kind::logical_not:
      return !is_true(first);
    case Expression::Kind::sign:
      return signed_number(meter_, text, first);
    case Expression::Kind::filter:
      return filter_result(meter_, text, first, evaluate_arguments(expression, scope));
    case Expression::Kind::test:
      return test_result(meter_, text, first, evaluate_arguments(expression, scope));
    default:
      break;
  }
  const auto second = evaluate(*expression.parts[1], scope);
  meter_.set_line(expression.line);
  if (expression.kind == Expression::Kind::item) return item_of(meter_, first, second);
  return arithmetic_result(meter_, text, first, second);
}

TemplateValue TemplateRenderer::evaluate_collection(const Expression& expression, const TemplateScope& scope) {
  TemplateValues values;
  for (const auto& part : expression.parts) values.push_back(evaluate(*part, scope));
  meter_.set_line(expression.line);
  if (expression.kind == Expression::Kind::concatenation) {
    MarkedText text;
    for (const auto& value : values) text += printed(meter_, value);
    return text_value(std::move(text));
  }
  if (expression.kind != Expression::Kind::dict)
    return list_value(meter_, std::move(values), expression.kind == Expression::Kind::tuple);
  std::vector<std::pair<std::string, TemplateValue>> entries;
  for (size_t i = 0; i + 1 < values.size(); i += 2) {
    const auto* key = text_in(values[i]);
    if (!key) meter_.fail("a string as the key of a dict", kind_of(values[i]));
    entries.emplace_back(*key, values[i + 1]);
  }
  return dict_value(meter_, entries);
}

TemplateValue TemplateRenderer::evaluate_comparison(const Expression& expression, const TemplateScope& scope) {
  auto left = evaluate(*expression.parts[0], scope);
  for (size_t i = 0; i < expression.operators.size(); ++i) {
    auto right = evaluate(*expression.parts[i + 1], scope);
    meter_.set_line(expression.line);
    if (!comparison_result(meter_, expression.operators[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

TemplateValue TemplateRenderer::evaluate_slice(const Expression& expression, const TemplateScope& scope) {
  const auto value = evaluate(*expression.parts[0], scope);
  TemplateValues bounds;
  for (size_t i = 1; i < 4; ++i)
    bounds.push_back(expression.parts[i] ? evaluate(*expression.parts[i], scope) : TemplateNone{});
  meter_.set_line(expression.line);
  return slice_of(meter_, value, bounds[0], bounds[1], bounds[2]);
}

TemplateArguments TemplateRenderer::evaluate_arguments(const Expression& expression, const TemplateScope& scope) {
  TemplateArguments arguments;
  for (size_t i = 1; i < expression.parts.size(); ++i)
    arguments.positional.push_back(evaluate(*expression.parts[i], scope));
  for (const auto& [name, value] : expression.keywords) arguments.named.emplace_back(name, evaluate(*value, scope));
  meter_.set_line(expression.line);
  return arguments;
}

TemplateValue TemplateRenderer::evaluate_call(const Expression& expression, const TemplateScope& scope) {
  const auto& function = *expression.parts[0];
  if (function.kind == Expression::Kind::member) {
    const auto object = evaluate(*function.parts[0], scope);
    return method_result(meter_, function.text, object, evaluate_arguments(expression, scope));
  }
  if (function.kind != Expression::Kind::name) meter_.fail("the name of a function before '('", "another expression");
  const auto callee = evaluate(function, scope);
  const auto arguments = evaluate_arguments(expression, scope);
  if (const auto* macro = std::get_if<const TemplateMacro*>(&callee)) return call_macro(**macro, arguments);
  if (const auto* known = std::get_if<TemplateFunction>(&callee)) return call_function(*known, arguments);
  if (is_undefined(callee)) meter_.fail("a known function", "'" + printable(function.text) + "'");
  meter_.fail(fmt::format("a function '{}'", printable(function.text)), kind_of(callee));
}

TemplateValue TemplateRenderer::call_function(TemplateFunction function, const TemplateArguments& arguments) {
  switch (function) {
    case TemplateFunction::range:
      return range_result(meter_, arguments);
    case TemplateFunction::strftime_now:
      return time_text(meter_, arguments);
    case TemplateFunction::new_namespace:
      return new_namespace(arguments);
    case TemplateFunction::dict:
      if (!arguments.positional.empty()) meter_.fail("dict(name=value, …)", "arguments without names");
      return dict_value(meter_, arguments.named);
    case TemplateFunction::raise_exception:
      break;
  }
  meter_.refuse(printed(meter_, arguments_by_name(meter_, "raise_exception", arguments, {"message"})[0]).text());
}

TemplateValue TemplateRenderer::new_namespace(const TemplateArguments& arguments) {
  const auto given = arguments.positional.empty() ? TemplateValue() : arguments.positional[0];
  auto space = std::make_unique<TemplateNamespace>();
  meter_.spend(8);
  if (const auto* dict = dict_in(given))
    for (const auto& [name, value] : dict->entries) space->members[name] = value;
  for (const auto& [name, value] : arguments.named) space->members[name] = value;
  namespaces_.push_back(std::move(space));
  return namespaces_.back().get();
}

// A macro sees its parameters and the global names of the template.
TemplateValue TemplateRenderer::call_macro(const TemplateMacro& macro, const TemplateArguments& arguments) {
  const auto& parameters = macro.parameters;
  if (arguments.positional.size() > parameters.size())
    meter_.fail(fmt::format("at most {} arguments for {}", parameters.size(), macro.name),
                fmt::format("{}", arguments.positional.size()));
  TemplateScope inner(&globals_);
  for (size_t i = 0; i < arguments.positional.size(); ++i) inner.set(parameters[i].name, arguments.positional[i]);
  for (const auto& [name, value] : arguments.named) inner.set(name, value);
  for (size_t i = arguments.positional.size(); i < parameters.size(); ++i) {
    const auto is_given = [&](const auto& named) { return named.first == parameters[i].name; };
    if (std::any_of(arguments.named.begin(), arguments.named.end(), is_given)) continue;
    const auto& otherwise = parameters[i].otherwise;
    inner.set(parameters[i].name, otherwise ? evaluate(*otherwise, inner) : TemplateValue());
  }
  return text_value(captured(macro.body, inner));
}

}  // namespace fwl
