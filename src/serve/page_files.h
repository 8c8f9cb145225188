// The files of the web page, which the build puts into the program; see scripts/embed_files.py.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace fwl {

const std::map<std::string, std::string_view>& page_files();  // "/app.js" and so on

}  // namespace fwl
