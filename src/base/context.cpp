#include "base/context.h"

#include "support/error.h"

namespace fwl {

LongText long_text_from_name(const std::string& name) {
  if (name == "refuse") return LongText::refuse;
  if (name == "slide") return LongText::slide;
  if (name == "restart") return LongText::restart;
  fail("long text", "refuse, slide or restart", "'" + name + "'");
}

}  // namespace fwl
