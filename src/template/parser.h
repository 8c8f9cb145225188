// Parses a template into a tree.
#pragma once

#include <string_view>

#include "template/tree.h"

namespace fwl {

// Throws a UserError with the line of unsupported tags and syntax. Filters, tests and functions are looked up when they
// are used, so that unused branches (tools) may contain unsupported ones.
TemplateBlock parse_template(std::string_view where, std::string_view source);

}  // namespace fwl
