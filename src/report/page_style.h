// The page around the sections: style and the few lines of script, inline.
#pragma once

#include <string>
#include <string_view>

namespace fwl {

extern const std::string_view chart_style;  // colours and charts, for the page and for pictures by themselves

// The page around sections of markup.
std::string html_page(std::string_view title, std::string_view sections);

}  // namespace fwl
