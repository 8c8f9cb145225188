// The look of the page: style and the few lines of script, inline.
#pragma once

#include <string_view>

namespace fwl {

extern const std::string_view chart_style;  // colours and charts, for the page and for pictures by themselves
extern const std::string_view page_style;   // all else
extern const std::string_view page_script;

}  // namespace fwl
