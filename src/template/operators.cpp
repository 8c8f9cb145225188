#include "template/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "template/text.h"

namespace fwl {
namespace {

[[noreturn]] void fail_operation(const TemplateMeter& meter, std::string_view symbol, const TemplateValue& left,
                                 const TemplateValue& right) {
  meter.fail(fmt::format("operands that {} supports", symbol), fmt::format("{} and {}", kind_of(left), kind_of(right)));
}

TemplateValue concatenated_lists(TemplateMeter& meter, const TemplateList& left, const TemplateList& right) {
  auto items = left.items;
  meter.spend(left.items.size() + right.items.size());
  items.insert(items.end(), right.items.begin(), right.items.end());
  return list_value(meter, std::move(items), left.is_tuple);
}

TemplateValue repeated_text(TemplateMeter& meter, const MarkedText& text, int64_t times) {
  MarkedText result;
  for (int64_t i = 0; i < times && text.size() > 0; ++i) {
    meter.spend(1 + text.size() / 16);
    result += text;
  }
  return text_value(std::move(result));
}

TemplateValue integer_result(TemplateMeter& meter, char symbol, int64_t left, int64_t right) {
  int64_t result = 0;
  bool is_too_large = false;
  if (symbol == '+') is_too_large = __builtin_add_overflow(left, right, &result);
  if (symbol == '-') is_too_large = __builtin_sub_overflow(left, right, &result);
  if (symbol == '*') is_too_large = __builtin_mul_overflow(left, right, &result);
  if (symbol == '/' || symbol == '%') {
    if (right == 0) meter.fail("a divisor", "0");
    if (right == -1) return symbol == '%' ? int64_t{0} : integer_result(meter, '-', 0, left);
    const bool rounds_down = left % right != 0 && (left < 0) != (right < 0);
    result = symbol == '/' ? left / right - (rounds_down ? 1 : 0) : left % right + (rounds_down ? right : 0);
  }
  if (is_too_large) meter.fail("a 64-bit number", "a larger one");
  return result;
}

TemplateValue real_result(TemplateMeter& meter, std::string_view symbol, double left, double right) {
  if (symbol == "+") return left + right;
  if (symbol == "-") return left - right;
  if (symbol == "*") return left * right;
  if (right == 0) meter.fail("a divisor", "0");
  if (symbol == "/") return left / right;
  if (symbol == "//") return std::floor(left / right);
  const auto rest = std::fmod(left, right);
  return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

bool is_less(TemplateMeter& meter, std::string_view symbol, const TemplateValue& left, const TemplateValue& right) {
  const auto left_integer = integer_in(left), right_integer = integer_in(right);
  if (left_integer && right_integer) return *left_integer < *right_integer;
  const auto left_number = number_in(left), right_number = number_in(right);
  if (left_number && right_number) return *left_number < *right_number;
  const auto *left_text = text_in(left), *right_text = text_in(right);
  if (!left_text || !right_text) fail_operation(meter, symbol, left, right);
  meter.spend_bytes(left_text->size());
  return *left_text < *right_text;
}

bool is_in(TemplateMeter& meter, const TemplateValue& item, const TemplateValue& container) {
  if (is_undefined(container)) return false;
  const auto* part = text_in(item);
  if (const auto* text = text_in(container)) {
    if (!part) meter.fail("a string to look for in a string", kind_of(item));
    meter.spend_bytes(text->size() + part->size());
    return find_text(*text, *part) != std::string::npos;
  }
  if (const auto* dict = dict_in(container)) {
    meter.spend(1 + dict->entries.size() / 4);
    return part && dict->find(*part);
  }
  const auto* list = list_in(container);
  if (!list) fail_operation(meter, "in", item, container);
  return std::any_of(list->items.begin(), list->items.end(),
                     [&](const auto& other) { return are_equal(meter, item, other); });
}

}  // namespace

TemplateValue arithmetic_result(TemplateMeter& meter, std::string_view symbol, const TemplateValue& left,
                                const TemplateValue& right) {
  const auto *left_text = marked_in(left), *right_text = marked_in(right);
  const auto left_integer = integer_in(left), right_integer = integer_in(right);
  if (symbol == "+" && left_text && right_text) {
    meter.spend_bytes(left_text->size() + right_text->size());
    auto sum = *left_text;
    return text_value(std::move(sum += *right_text));
  }
  if (symbol == "*" && left_text && right_integer) return repeated_text(meter, *left_text, *right_integer);
  if (symbol == "*" && left_integer && right_text) return repeated_text(meter, *right_text, *left_integer);
  const auto *left_list = list_in(left), *right_list = list_in(right);
  if (symbol == "+" && left_list && right_list && left_list->is_tuple == right_list->is_tuple)
    return concatenated_lists(meter, *left_list, *right_list);
  const auto left_number = number_in(left), right_number = number_in(right);
  if (!left_number || !right_number) fail_operation(meter, symbol, left, right);
  if (left_integer && right_integer && symbol != "/")
    return integer_result(meter, symbol[0], *left_integer, *right_integer);
  return real_result(meter, symbol, *left_number, *right_number);
}

TemplateValue signed_number(TemplateMeter& meter, std::string_view sign, const TemplateValue& value) {
  if (!number_in(value)) meter.fail(fmt::format("a number after {}", sign), kind_of(value));
  return arithmetic_result(meter, sign, int64_t{0}, value);
}

bool comparison_result(TemplateMeter& meter, std::string_view symbol, const TemplateValue& left,
                       const TemplateValue& right) {
  if (symbol == "==") return are_equal(meter, left, right);
  if (symbol == "!=") return !are_equal(meter, left, right);
  if (symbol == "in") return is_in(meter, left, right);
  if (symbol == "not in") return !is_in(meter, left, right);
  if (symbol == "<") return is_less(meter, symbol, left, right);
  if (symbol == ">") return is_less(meter, symbol, right, left);
  const bool is_smaller = symbol == "<=" ? is_less(meter, symbol, left, right) : is_less(meter, symbol, right, left);
  return is_smaller || are_equal(meter, left, right);
}

}  // namespace fwl
