#include "template/cursor.h"

#include <fmt/format.h>

#include "support/printable.h"
#include "template/meter.h"

namespace fwl {

const TemplateToken& TemplateCursor::take() {
  const auto& token = now();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TemplateCursor::take_symbol(std::string_view text) {
  if (!is_symbol(text)) return false;
  take();
  return true;
}

bool TemplateCursor::take_name(std::string_view text) {
  if (!is_name(text)) return false;
  take();
  return true;
}

void TemplateCursor::expect_symbol(std::string_view text) {
  if (!take_symbol(text)) fail(fmt::format("'{}'", text));
}

void TemplateCursor::expect_name(std::string_view text) {
  if (!take_name(text)) fail(fmt::format("'{}'", text));
}

std::string TemplateCursor::expect_any_name() {
  if (!is(Kind::name)) fail("a name");
  return take().text;
}

void TemplateCursor::expect(Kind kind, std::string_view description) {
  if (!is(kind)) fail(description);
  take();
}

void TemplateCursor::fail(std::string_view expected) const {
  fail(expected, is(Kind::end) ? "the end of the template" : "'" + printable(now().text) + "'");
}

void TemplateCursor::fail(std::string_view expected, std::string_view got, std::string_view cause) const {
  fail_in_template(where_, line(), expected, got, cause);
}

TemplateCursor::Level::Level(TemplateCursor& cursor) : cursor_(cursor) {
  if (cursor.depth_ >= TemplateLimits::nesting)
    cursor.fail(fmt::format("at most {} levels of nesting", TemplateLimits::nesting), "more");
  ++cursor.depth_;
}

}  // namespace fwl
