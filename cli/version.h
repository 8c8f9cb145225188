// `fwl --version`: what is needed to repeat a result or report a bug.
#pragma once

#include <string>

namespace fwl {

std::string version_text();

}  // namespace fwl
