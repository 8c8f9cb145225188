// Converts values to strings, as Python prints them and as JSON.
#pragma once

#include <optional>
#include <string>

#include "template/value.h"

namespace fwl {

// Strings keep their markup; what is written around them is markup.
// As str() in Python: a string unchanged, strings inside lists and dicts quoted. Undefined prints as nothing.
MarkedText printed(TemplateMeter& meter, const TemplateValue& value);

// As JSON, on one line, or with each item on its own line, indented by `indent` spaces per level.
MarkedText json_text(TemplateMeter& meter, const TemplateValue& value, std::optional<int64_t> indent = {});

}  // namespace fwl
