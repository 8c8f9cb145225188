// Values as texts: as Python prints them, and as JSON.
#pragma once

#include <optional>
#include <string>

#include "template/value.h"

namespace fwl {

// A text as it is; items of lists and dicts in quotes. Undefined is empty.
std::string printed(TemplateMeter& meter, const TemplateValue& value);

// In one line, or with each item in a line of its own, `indent` spaces deeper than its list.
std::string json_text(TemplateMeter& meter, const TemplateValue& value, std::optional<int64_t> indent = {});

}  // namespace fwl
