// Renders the tree of a template: statements in renderer.cpp, expressions in evaluate.cpp.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "template/builtins.h"
#include "template/tree.h"

namespace fwl {

class TemplateScope {
 public:
  explicit TemplateScope(const TemplateScope* outer = nullptr) : outer_(outer) {}

  void set(const std::string& name, TemplateValue value) { values_[name] = std::move(value); }
  const TemplateValue* find(std::string_view name) const;  // in this scope or an outer one, or null

 private:
  const TemplateScope* outer_;
  std::map<std::string, TemplateValue, std::less<>> values_;
};

// Renders one template once, within the limits of the meter.
class TemplateRenderer {
 public:
  // `globals` holds the names that the template can use, and receives its assignments.
  TemplateRenderer(TemplateMeter& meter, TemplateScope& globals) : meter_(meter), globals_(globals) {}

  MarkedText render(const TemplateBlock& block);

 private:
  using Expression = TemplateExpression;
  using Statement = TemplateStatement;
  enum class Flow { next, break_loop, continue_loop };

  Flow run(const TemplateBlock& block, TemplateScope& scope);
  Flow run(const Statement& statement, TemplateScope& scope);
  Flow run_condition(const Statement& statement, TemplateScope& scope);
  Flow run_loop(const Statement& statement, TemplateScope& scope);
  TemplateValues loop_items(const Statement& statement, TemplateScope& scope);
  void run_capture(const Statement& statement, TemplateScope& scope);
  void assign(const TemplateTarget& target, const TemplateValue& value, TemplateScope& scope);
  void write(const MarkedText& text);
  MarkedText captured(const TemplateBlock& block, TemplateScope& scope);

  TemplateValue evaluate(const Expression& expression, const TemplateScope& scope);
  TemplateValue evaluate_operation(const Expression& expression, const TemplateScope& scope);
  TemplateValue evaluate_collection(const Expression& expression, const TemplateScope& scope);
  TemplateValue evaluate_comparison(const Expression& expression, const TemplateScope& scope);
  TemplateValue evaluate_slice(const Expression& expression, const TemplateScope& scope);
  TemplateValue evaluate_call(const Expression& expression, const TemplateScope& scope);
  TemplateArguments evaluate_arguments(const Expression& expression, const TemplateScope& scope);
  TemplateValue call_function(TemplateFunction function, const TemplateArguments& arguments);
  TemplateValue call_macro(const TemplateMacro& macro, const TemplateArguments& arguments);
  TemplateValue new_namespace(const TemplateArguments& arguments);

  TemplateMeter& meter_;
  TemplateScope& globals_;
  MarkedText output_;
  std::vector<std::unique_ptr<TemplateNamespace>> namespaces_;
};

}  // namespace fwl
