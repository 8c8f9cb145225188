// Cuts a template into text and the words of its tags, with the white space that chat templates expect: tags alone on a
// line leave nothing of it (trim_blocks and lstrip_blocks), `-` takes all white space, `+` none.
#pragma once

#include <string_view>
#include <vector>

#include "template/token.h"

namespace fwl {

// Ends with a token of kind end. Throws UserError with the line.
std::vector<TemplateToken> cut_template(std::string_view where, std::string_view source);

}  // namespace fwl
