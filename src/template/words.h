// Cuts the inside of a tag into names, numbers, strings and operators.
#pragma once

#include <string_view>
#include <vector>

#include "template/source.h"
#include "template/token.h"

namespace fwl {

// Stops before `close`, which is no close inside brackets: {{ {'a': {}} }}. Throws UserError if there is none.
void cut_template_words(TemplateSource& source, std::string_view close, std::vector<TemplateToken>& tokens);

}  // namespace fwl
