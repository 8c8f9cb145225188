// The HTML page around the sections, with inline style and script.
#pragma once

#include <string>
#include <string_view>

namespace fwl {

extern const std::string_view chart_style;  // colours and charts, for the page and for standalone SVG

// The page around `sections`, which are HTML.
std::string html_page(std::string_view title, std::string_view sections);

}  // namespace fwl
