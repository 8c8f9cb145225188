// Parses the expressions of a template: operators (expression_parser.cpp) and operands (operand_parser.cpp).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "template/cursor.h"
#include "template/tree.h"

namespace fwl {

enum class AllowsInlineIf { no, yes };  // no: an `if` after the expression belongs to the tag

class TemplateExpressionParser {
 public:
  explicit TemplateExpressionParser(TemplateCursor& cursor) : cursor_(cursor) {}

  TemplateExpressionPointer expression();
  // An expression, or several separated by commas.
  TemplateExpressionPointer tuple(AllowsInlineIf allows = AllowsInlineIf::yes);
  // Zero or more `| filter` applied to `inner`.
  TemplateExpressionPointer filters(TemplateExpressionPointer inner);

 private:
  using Kind = TemplateExpression::Kind;
  using Token = TemplateToken::Kind;

  TemplateExpressionPointer logical_or();
  TemplateExpressionPointer logical_and();
  TemplateExpressionPointer logical_not();
  TemplateExpressionPointer comparison();
  std::string take_comparison();
  TemplateExpressionPointer sum();
  TemplateExpressionPointer concatenation();
  TemplateExpressionPointer product();
  template <class Part>
  TemplateExpressionPointer arithmetic(std::initializer_list<std::string_view> symbols, Part part);
  TemplateExpressionPointer signed_value();
  TemplateExpressionPointer filtered(TemplateExpressionPointer inner);
  TemplateExpressionPointer test(TemplateExpressionPointer inner);
  bool has_bare_argument() const;
  bool is_tuple_end() const;

  TemplateExpressionPointer postfix(TemplateExpressionPointer inner);
  TemplateExpressionPointer member(TemplateExpressionPointer inner);
  TemplateExpressionPointer item(TemplateExpressionPointer inner);
  void arguments(TemplateExpression& node);
  TemplateExpressionPointer primary();
  TemplateExpressionPointer name_or_constant();
  TemplateExpressionPointer parenthesized();
  TemplateExpressionPointer list();
  TemplateExpressionPointer dict();
  template <class Number>
  Number taken_number();

  TemplateExpression start(Kind kind, TemplateExpressionPointer first = {}) const;
  TemplateExpressionPointer finish(TemplateExpression node) const;
  TemplateExpressionPointer literal(TemplateValue value) const;

  TemplateCursor& cursor_;
};

}  // namespace fwl
