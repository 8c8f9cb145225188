#include "template/expression_parser.h"

#include <algorithm>

namespace fwl {

TemplateExpressionPointer TemplateExpressionParser::expression() {
  const TemplateCursor::Level level(cursor_);
  auto left = logical_or();
  while (cursor_.take_name("if")) {
    auto node = start(Kind::conditional, std::move(left));
    node.parts.push_back(logical_or());
    node.parts.push_back(cursor_.take_name("else") ? expression() : nullptr);
    left = finish(std::move(node));
  }
  return left;
}

TemplateExpressionPointer TemplateExpressionParser::tuple(AllowsInlineIf allows) {
  const auto part = [&] { return allows == AllowsInlineIf::yes ? expression() : logical_or(); };
  auto first = part();
  if (!cursor_.is_symbol(",")) return first;
  auto node = start(Kind::tuple, std::move(first));
  while (cursor_.take_symbol(","))
    if (!is_tuple_end()) node.parts.push_back(part());
  return finish(std::move(node));
}

TemplateExpressionPointer TemplateExpressionParser::filters(TemplateExpressionPointer inner) {
  while (cursor_.take_symbol("|")) {
    auto node = start(Kind::filter, std::move(inner));
    node.text = cursor_.expect_any_name();
    if (cursor_.is_symbol("(")) arguments(node);
    inner = finish(std::move(node));
  }
  return inner;
}

TemplateExpressionPointer TemplateExpressionParser::logical_or() {
  auto left = logical_and();
  while (cursor_.take_name("or")) {
    auto node = start(Kind::logical_or, std::move(left));
    node.parts.push_back(logical_and());
    left = finish(std::move(node));
  }
  return left;
}

TemplateExpressionPointer TemplateExpressionParser::logical_and() {
  auto left = logical_not();
  while (cursor_.take_name("and")) {
    auto node = start(Kind::logical_and, std::move(left));
    node.parts.push_back(logical_not());
    left = finish(std::move(node));
  }
  return left;
}

TemplateExpressionPointer TemplateExpressionParser::logical_not() {
  if (!cursor_.take_name("not")) return comparison();
  const TemplateCursor::Level level(cursor_);
  return finish(start(Kind::logical_not, logical_not()));
}

// Consumes a comparison operator; an empty string if there is none.
std::string TemplateExpressionParser::take_comparison() {
  for (const std::string_view symbol : {"==", "!=", "<", "<=", ">", ">="})
    if (cursor_.take_symbol(symbol)) return std::string(symbol);
  if (cursor_.take_name("in")) return "in";
  if (!cursor_.is_name("not") || cursor_.after().kind != Token::name || cursor_.after().text != "in") return "";
  cursor_.take();
  cursor_.take();
  return "not in";
}

TemplateExpressionPointer TemplateExpressionParser::comparison() {
  auto first = sum();
  auto comparison = take_comparison();
  if (comparison.empty()) return first;
  auto node = start(Kind::comparison, std::move(first));
  for (; !comparison.empty(); comparison = take_comparison()) {
    node.operators.push_back(comparison);
    node.parts.push_back(sum());
  }
  return finish(std::move(node));
}

// Operators of one precedence, from left to right.
template <class Part>
TemplateExpressionPointer TemplateExpressionParser::arithmetic(std::initializer_list<std::string_view> symbols,
                                                               Part part) {
  auto left = part();
  const auto is_symbol = [&](std::string_view symbol) { return cursor_.is_symbol(symbol); };
  while (std::any_of(symbols.begin(), symbols.end(), is_symbol)) {
    auto node = start(Kind::arithmetic, std::move(left));
    node.text = cursor_.take().text;
    node.parts.push_back(part());
    left = finish(std::move(node));
  }
  return left;
}

TemplateExpressionPointer TemplateExpressionParser::sum() {
  return arithmetic({"+", "-"}, [&] { return concatenation(); });
}

TemplateExpressionPointer TemplateExpressionParser::concatenation() {
  auto first = product();
  if (!cursor_.is_symbol("~")) return first;
  auto node = start(Kind::concatenation, std::move(first));
  while (cursor_.take_symbol("~")) node.parts.push_back(product());
  return finish(std::move(node));
}

TemplateExpressionPointer TemplateExpressionParser::product() {
  return arithmetic({"*", "/", "//", "%"}, [&] { return filtered(signed_value()); });
}

TemplateExpressionPointer TemplateExpressionParser::signed_value() {
  if (!cursor_.is_symbol("-") && !cursor_.is_symbol("+")) return postfix(primary());
  const TemplateCursor::Level level(cursor_);
  auto node = start(Kind::sign);
  node.text = cursor_.take().text;
  node.parts.push_back(signed_value());
  return finish(std::move(node));
}

TemplateExpressionPointer TemplateExpressionParser::filtered(TemplateExpressionPointer inner) {
  while (true) {
    if (cursor_.is_symbol("|"))
      inner = filters(std::move(inner));
    else if (cursor_.take_name("is"))
      inner = test(std::move(inner));
    else
      return inner;
  }
}

TemplateExpressionPointer TemplateExpressionParser::test(TemplateExpressionPointer inner) {
  const bool is_negated = cursor_.take_name("not");
  auto node = start(Kind::test, std::move(inner));
  node.text = cursor_.expect_any_name();
  if (cursor_.is_symbol("("))
    arguments(node);
  else if (has_bare_argument())
    node.parts.push_back(postfix(primary()));
  auto result = finish(std::move(node));
  return is_negated ? finish(start(Kind::logical_not, std::move(result))) : std::move(result);
}

// `is divisibleby 3`, but not `is none and …`.
bool TemplateExpressionParser::has_bare_argument() const {
  if (cursor_.is(Token::name)) {
    const auto& name = cursor_.now().text;
    return name != "else" && name != "or" && name != "and" && name != "if" && name != "is" && name != "not" &&
           name != "in";
  }
  return cursor_.is(Token::string) || cursor_.is(Token::integer) || cursor_.is(Token::real) || cursor_.is_symbol("[") ||
         cursor_.is_symbol("{");
}

bool TemplateExpressionParser::is_tuple_end() const {
  return cursor_.is(Token::tag_end) || cursor_.is(Token::output_end) || cursor_.is_symbol(")");
}

}  // namespace fwl
