// Brings what `fwl get` knows, with progress, and says what to do by hand where that fails.
#pragma once

#include <string>

#include "cli/console.h"
#include "files/fetch.h"

namespace fwl {

FetchResult fetch_known(const KnownData& data, const std::string& data_folder, Console& console);

}  // namespace fwl
