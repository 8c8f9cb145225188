#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "template/expression_parser.h"

namespace fwl {

template <class Number>
Number TemplateExpressionParser::taken_number() {
  const auto& text = cursor_.now().text;
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) cursor_.fail("a 64-bit number");
  cursor_.take();
  return number;
}

TemplateExpression TemplateExpressionParser::start(Kind kind, TemplateExpressionPointer first) const {
  TemplateExpression node{.kind = kind, .line = cursor_.line()};
  if (first) node.parts.push_back(std::move(first));
  return node;
}

TemplateExpressionPointer TemplateExpressionParser::finish(TemplateExpression node) const {
  const auto add_depth = [&](const TemplateExpressionPointer& part) {
    if (part) node.depth = std::max(node.depth, part->depth + 1);
  };
  for (const auto& part : node.parts) add_depth(part);
  for (const auto& keyword : node.keywords) add_depth(keyword.second);
  if (node.depth > TemplateLimits::expression_depth)
    cursor_.fail(fmt::format("an expression at most {} levels deep", TemplateLimits::expression_depth), "a deeper one");
  return std::make_unique<const TemplateExpression>(std::move(node));
}

TemplateExpressionPointer TemplateExpressionParser::literal(TemplateValue value) const {
  auto node = start(Kind::literal);
  node.value = std::move(value);
  return finish(std::move(node));
}

TemplateExpressionPointer TemplateExpressionParser::postfix(TemplateExpressionPointer inner) {
  while (true) {
    if (cursor_.is_symbol("(")) {
      auto node = start(Kind::call, std::move(inner));
      arguments(node);
      inner = finish(std::move(node));
    } else if (cursor_.take_symbol(".")) {
      inner = member(std::move(inner));
    } else if (cursor_.take_symbol("[")) {
      inner = item(std::move(inner));
    } else {
      return inner;
    }
  }
}

TemplateExpressionPointer TemplateExpressionParser::member(TemplateExpressionPointer inner) {
  if (cursor_.is(Token::integer)) {
    auto node = start(Kind::item, std::move(inner));
    node.parts.push_back(literal(taken_number<int64_t>()));
    return finish(std::move(node));
  }
  auto node = start(Kind::member, std::move(inner));
  node.text = cursor_.expect_any_name();
  return finish(std::move(node));
}

TemplateExpressionPointer TemplateExpressionParser::item(TemplateExpressionPointer inner) {
  auto node = start(Kind::item, std::move(inner));
  node.parts.push_back(cursor_.is_symbol(":") ? nullptr : expression());
  while (cursor_.take_symbol(":")) {
    node.kind = Kind::slice;
    const bool is_left_out = cursor_.is_symbol(":") || cursor_.is_symbol("]");
    node.parts.push_back(is_left_out ? nullptr : expression());
  }
  if (node.kind == Kind::slice) {
    if (node.parts.size() > 4) cursor_.fail("a slice like [start:stop:step]", "more parts");
    node.parts.resize(4);
  }
  cursor_.expect_symbol("]");
  return finish(std::move(node));
}

void TemplateExpressionParser::arguments(TemplateExpression& node) {
  cursor_.expect_symbol("(");
  while (!cursor_.take_symbol(")")) {
    if (cursor_.is(Token::name) && cursor_.after().kind == Token::symbol && cursor_.after().text == "=") {
      auto name = cursor_.take().text;
      cursor_.take();
      node.keywords.emplace_back(std::move(name), expression());
    } else {
      if (!node.keywords.empty()) cursor_.fail("positional arguments before keyword arguments");
      node.parts.push_back(expression());
    }
    if (!cursor_.is_symbol(")")) cursor_.expect_symbol(",");
  }
}

TemplateExpressionPointer TemplateExpressionParser::primary() {
  if (cursor_.is(Token::name)) return name_or_constant();
  if (cursor_.is(Token::string)) {
    std::string text;
    while (cursor_.is(Token::string)) text += cursor_.take().text;
    return literal(text_value(MarkedText::all_markup(std::move(text))));
  }
  if (cursor_.is(Token::integer)) return literal(taken_number<int64_t>());
  if (cursor_.is(Token::real)) return literal(taken_number<double>());
  if (cursor_.take_symbol("(")) return parenthesized();
  if (cursor_.take_symbol("[")) return list();
  if (cursor_.take_symbol("{")) return dict();
  cursor_.fail("a value");
}

TemplateExpressionPointer TemplateExpressionParser::name_or_constant() {
  auto node = start(Kind::name);
  node.text = cursor_.take().text;
  if (node.text == "true" || node.text == "True") return literal(true);
  if (node.text == "false" || node.text == "False") return literal(false);
  if (node.text == "none" || node.text == "None") return literal(TemplateNone{});
  return finish(std::move(node));
}

TemplateExpressionPointer TemplateExpressionParser::parenthesized() {
  if (cursor_.take_symbol(")")) return finish(start(Kind::tuple));
  auto inner = tuple(AllowsInlineIf::yes);
  cursor_.expect_symbol(")");
  return inner;
}

TemplateExpressionPointer TemplateExpressionParser::list() {
  auto node = start(Kind::list);
  while (!cursor_.take_symbol("]")) {
    node.parts.push_back(expression());
    if (!cursor_.is_symbol("]")) cursor_.expect_symbol(",");
  }
  return finish(std::move(node));
}

TemplateExpressionPointer TemplateExpressionParser::dict() {
  auto node = start(Kind::dict);
  while (!cursor_.take_symbol("}")) {
    node.parts.push_back(expression());
    cursor_.expect_symbol(":");
    node.parts.push_back(expression());
    if (!cursor_.is_symbol("}")) cursor_.expect_symbol(",");
  }
  return finish(std::move(node));
}

}  // namespace fwl
