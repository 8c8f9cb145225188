// Splits the inside of a tag into names, numbers, strings and operators.
#pragma once

#include <string_view>
#include <vector>

#include "template/source.h"
#include "template/token.h"

namespace fwl {

// Stops before `close`, except inside brackets: {{ {'a': {}} }}. Throws a UserError if there is none.
void lex_template_tag(TemplateSource& source, std::string_view close, std::vector<TemplateToken>& tokens);

}  // namespace fwl
