// Parses a template into a tree.
#pragma once

#include <string_view>

#include "template/tree.h"

namespace fwl {

// Throws UserError with the line for tags and syntax that are not understood. Filters, tests and functions are looked
// up when they are used, so that parts for tools may hold what this project does not know.
TemplateBlock parse_template(std::string_view where, std::string_view source);

}  // namespace fwl
