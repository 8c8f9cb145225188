// A position in the tokens of a template, with a limit on nesting.
#pragma once

#include <string_view>
#include <vector>

#include "template/token.h"

namespace fwl {

class TemplateCursor {
 public:
  using Kind = TemplateToken::Kind;

  TemplateCursor(std::string_view where, std::vector<TemplateToken> tokens)
      : where_(where), tokens_(std::move(tokens)) {}

  const TemplateToken& now() const { return tokens_[at_]; }
  const TemplateToken& after() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  int line() const { return now().line; }

  bool is(Kind kind) const { return now().kind == kind; }
  bool is_symbol(std::string_view text) const { return is(Kind::symbol) && now().text == text; }
  bool is_name(std::string_view text) const { return is(Kind::name) && now().text == text; }

  const TemplateToken& take();
  bool take_symbol(std::string_view text);  // true if it was there
  bool take_name(std::string_view text);
  void expect_symbol(std::string_view text);
  void expect_name(std::string_view text);
  std::string expect_any_name();
  void expect(Kind kind, std::string_view description);

  [[noreturn]] void fail(std::string_view expected) const;  // got: the current token
  [[noreturn]] void fail(std::string_view expected, std::string_view got, std::string_view cause = {}) const;

  // One level of nesting, for the life of the object.
  class Level {
   public:
    explicit Level(TemplateCursor& cursor);
    ~Level() { --cursor_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    TemplateCursor& cursor_;
  };

 private:
  std::string_view where_;
  std::vector<TemplateToken> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace fwl
