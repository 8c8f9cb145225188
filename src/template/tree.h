// A template as a tree of statements and expressions.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "template/value.h"

namespace fwl {

struct TemplateExpression;
using TemplateExpressionPointer = std::unique_ptr<const TemplateExpression>;

struct TemplateExpression {
  enum class Kind {
    literal,        // value
    name,           // text
    list,           // parts
    tuple,          // parts
    dict,           // parts: key, value, key, value, …
    member,         // parts[0].text
    item,           // parts[0][parts[1]]
    slice,          // parts[0][parts[1]:parts[2]:parts[3]], where parts may be null
    call,           // parts[0](parts[1], …, keywords)
    filter,         // parts[0] | text(parts[1], …, keywords)
    test,           // parts[0] is text(parts[1], …)
    logical_not,    // not parts[0]
    sign,           // text is + or -
    logical_and,    // parts[0] and parts[1]
    logical_or,     // parts[0] or parts[1]
    arithmetic,     // parts[0] text parts[1]
    concatenation,  // parts[0] ~ parts[1] ~ …
    comparison,     // parts[0] operators[0] parts[1] operators[1] …
    conditional,    // parts[0] if parts[1] else parts[2], which may be null
  };

  Kind kind = Kind::literal;
  int line = 1;
  int depth = 1;
  std::string text = {};
  TemplateValue value = {};
  std::vector<TemplateExpressionPointer> parts = {};
  std::vector<std::string> operators = {};
  std::vector<std::pair<std::string, TemplateExpressionPointer>> keywords = {};
};

// Holds the text of a capture for its filters. Templates cannot use this name, because of its parentheses.
constexpr const char* captured_text_name = "(captured)";

struct TemplateStatement;
using TemplateBlock = std::vector<TemplateStatement>;

// The target of a loop or an assignment: names, or one member of a namespace.
struct TemplateTarget {
  std::vector<std::string> names;
  bool is_unpacked = false;  // a, b = …
  std::string member = {};   // names[0].member
};

struct TemplateMacro {
  struct Parameter {
    std::string name;
    TemplateExpressionPointer otherwise;  // may be null
  };
  std::string name;
  std::vector<Parameter> parameters;
  TemplateBlock body;
};

struct TemplateStatement {
  enum class Kind {
    text,           // text
    output,         // value
    condition,      // the first of `branches` whose condition is null or true
    loop,           // target in value if condition: branches[0]; else branches[1], if there is one
    assignment,     // target = value
    capture,        // target = the rendered branches[0], with the filters of value
    macro,          // macro
    scope,          // branches[0], with its own assignments
    break_loop,     // break
    continue_loop,  // continue
  };
  struct Branch {
    TemplateExpressionPointer condition;
    TemplateBlock body;
  };

  Kind kind = Kind::text;
  int line = 1;
  std::string text = {};
  TemplateTarget target = {};
  TemplateExpressionPointer value = {}, condition = {};
  std::vector<Branch> branches = {};
  std::unique_ptr<const TemplateMacro> macro = {};
};

}  // namespace fwl
