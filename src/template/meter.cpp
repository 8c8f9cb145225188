#include "template/meter.h"

#include <fmt/format.h>

#include "support/error.h"
#include "support/printable.h"

namespace fwl {

void fail_in_template(std::string_view where, int line, std::string_view expected, std::string_view got,
                      std::string_view likely_cause) {
  fwl::fail(fmt::format("{}: line {}", where, line), expected, got, likely_cause);
}

void TemplateMeter::spend(size_t steps) {
  if (steps > steps_left_) fail(fmt::format("at most {} steps", TemplateLimits::steps), "more", "an endless loop?");
  steps_left_ -= steps;
}

void TemplateMeter::fail(std::string_view expected, std::string_view got, std::string_view likely_cause) const {
  fail_in_template(where_, line_, expected, got, likely_cause);
}

void TemplateMeter::refuse(std::string_view message) const {
  throw UserError(fmt::format("{}: line {}: the template says: {}", where_, line_, printable(message, 400)));
}

TemplateMeter::Level::Level(TemplateMeter& meter) : meter_(meter) {
  constexpr int deepest = TemplateLimits::rendering_depth;
  if (meter.depth_ >= deepest)
    meter.fail(fmt::format("at most {} levels of nesting", deepest), "more", "a macro that calls itself endlessly?");
  ++meter.depth_;
}

}  // namespace fwl
