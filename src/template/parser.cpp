#include "template/parser.h"

#include <initializer_list>

#include "template/cursor.h"
#include "template/expression_parser.h"
#include "template/lexer.h"

namespace fwl {
namespace {

class TemplateParser {
 public:
  TemplateParser(std::string_view where, std::string_view source)
      : cursor_(where, cut_template(where, source)), expressions_(cursor_) {}

  TemplateBlock parse() { return block({}); }

 private:
  using Statement = TemplateStatement;
  using Token = TemplateToken::Kind;

  // Statements up to a tag with one of these names, which is not consumed; without names, to the end of the template.
  TemplateBlock block(std::initializer_list<std::string_view> ends) {
    const TemplateCursor::Level level(cursor_);
    TemplateBlock statements;
    while (true) {
      if (cursor_.is(Token::text)) {
        const auto line = cursor_.line();
        statements.push_back({.kind = Statement::Kind::text, .line = line, .text = cursor_.take().text});
      } else if (cursor_.is(Token::output_begin)) {
        statements.push_back(output());
      } else if (cursor_.is(Token::tag_begin)) {
        cursor_.take();
        for (const auto end : ends)
          if (cursor_.is_name(end)) return statements;
        statements.push_back(tag());
        end_tag();
      } else {
        if (ends.size()) cursor_.fail("{% " + std::string(*(ends.end() - 1)) + " %}");
        return statements;
      }
    }
  }

  void end_tag() { cursor_.expect(Token::tag_end, "%}"); }

  // The body of a tag, up to and including the name of its end tag.
  TemplateBlock body_until(std::string_view end) {
    end_tag();
    auto body = block({end});
    cursor_.take();
    return body;
  }

  Statement output() {
    Statement statement{.kind = Statement::Kind::output, .line = cursor_.line()};
    cursor_.take();
    statement.value = expressions_.tuple();
    cursor_.expect(Token::output_end, "}}");
    return statement;
  }

  Statement tag() {
    const auto line = cursor_.line();
    if (!cursor_.is(Token::name)) cursor_.fail("the name of a tag");
    const auto name = cursor_.now().text;
    if (name == "if") return condition(line);
    if (name == "for") return loop(line);
    if (name == "set") return assignment(line);
    if (name == "macro") return macro(line);
    if (name == "generation") return generation(line);
    if (name == "break" || name == "continue") return loop_control(line);
    cursor_.fail("if, for, set, macro, generation, break or continue");
  }

  Statement condition(int line) {
    Statement statement{.kind = Statement::Kind::condition, .line = line};
    while (cursor_.take_name("if") || cursor_.take_name("elif")) {
      auto condition = expressions_.tuple(AllowsInlineIf::no);
      end_tag();
      statement.branches.push_back({std::move(condition), block({"elif", "else", "endif"})});
    }
    if (cursor_.take_name("else")) {
      end_tag();
      statement.branches.push_back({nullptr, block({"endif"})});
    }
    cursor_.expect_name("endif");
    return statement;
  }

  Statement loop(int line) {
    cursor_.take();
    Statement statement{.kind = Statement::Kind::loop, .line = line, .target = target()};
    if (!statement.target.member.empty()) cursor_.fail("variable names after for", "a member");
    cursor_.expect_name("in");
    statement.value = expressions_.tuple(AllowsInlineIf::no);
    if (cursor_.take_name("if")) statement.condition = expressions_.expression();
    end_tag();
    ++loops_, ++inner_scopes_;
    statement.branches.push_back({nullptr, block({"else", "endfor"})});
    --loops_;
    if (cursor_.take_name("else")) {
      end_tag();
      statement.branches.push_back({nullptr, block({"endfor"})});
    }
    --inner_scopes_;
    cursor_.take();
    return statement;
  }

  // a, or a, b, or (a, b), or a.b
  TemplateTarget target() {
    const bool is_in_brackets = cursor_.take_symbol("(");
    TemplateTarget target{.names = {cursor_.expect_any_name()}};
    if (cursor_.take_symbol(".")) target.member = cursor_.expect_any_name();
    while (target.member.empty() && cursor_.take_symbol(",")) {
      target.is_unpacked = true;
      if (cursor_.is(Token::name) && !cursor_.is_name("in")) target.names.push_back(cursor_.take().text);
    }
    if (is_in_brackets) cursor_.expect_symbol(")");
    return target;
  }

  Statement assignment(int line) {
    cursor_.take();
    Statement statement{.kind = Statement::Kind::assignment, .line = line, .target = target()};
    if (cursor_.take_symbol("=")) {
      statement.value = expressions_.tuple();
      return statement;
    }
    statement.kind = Statement::Kind::capture;
    if (statement.target.is_unpacked) cursor_.fail("'='");
    statement.value = expressions_.filters(captured_text(line));
    ++inner_scopes_;
    statement.branches.push_back({nullptr, body_until("endset")});
    --inner_scopes_;
    return statement;
  }

  static TemplateExpressionPointer captured_text(int line) {
    return std::make_unique<const TemplateExpression>(
        TemplateExpression{.kind = TemplateExpression::Kind::name, .line = line, .text = captured_text_name});
  }

  Statement macro(int line) {
    if (inner_scopes_) cursor_.fail("macros outside loops and other macros", "one inside");
    cursor_.take();
    TemplateMacro macro;
    macro.name = cursor_.expect_any_name();
    cursor_.expect_symbol("(");
    while (!cursor_.take_symbol(")")) {
      auto name = cursor_.expect_any_name();
      macro.parameters.push_back({std::move(name), cursor_.take_symbol("=") ? expressions_.expression() : nullptr});
      if (!cursor_.is_symbol(")")) cursor_.expect_symbol(",");
    }
    ++inner_scopes_;
    macro.body = body_until("endmacro");
    --inner_scopes_;
    Statement statement{.kind = Statement::Kind::macro, .line = line};
    statement.macro = std::make_unique<const TemplateMacro>(std::move(macro));
    return statement;
  }

  // {% generation %} marks the model's own text for training; it renders as its body.
  Statement generation(int line) {
    cursor_.take();
    Statement statement{.kind = Statement::Kind::scope, .line = line};
    ++inner_scopes_;
    statement.branches.push_back({nullptr, body_until("endgeneration")});
    --inner_scopes_;
    return statement;
  }

  Statement loop_control(int line) {
    if (!loops_) cursor_.fail("break and continue inside a loop", "one outside");
    const bool is_break = cursor_.take().text == "break";
    return {.kind = is_break ? Statement::Kind::break_loop : Statement::Kind::continue_loop, .line = line};
  }

  TemplateCursor cursor_;
  TemplateExpressionParser expressions_;
  int loops_ = 0, inner_scopes_ = 0;  // around the current tag
};

}  // namespace

TemplateBlock parse_template(std::string_view where, std::string_view source) {
  return TemplateParser(where, source).parse();
}

}  // namespace fwl
