// Splits a template into text and the tokens of its tags. White space is handled as chat templates expect: a line with
// nothing but tags leaves nothing (trim_blocks and lstrip_blocks), `-` strips all white space, `+` none.
#pragma once

#include <string_view>
#include <vector>

#include "template/token.h"

namespace fwl {

// The last token has the kind `end`. Throws a UserError with the line.
std::vector<TemplateToken> cut_template(std::string_view where, std::string_view source);

}  // namespace fwl
