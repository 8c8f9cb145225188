// Downloads data known to `fwl get`, with progress; if that fails, says how to place the files by hand.
#pragma once

#include <string>

#include "cli/console.h"
#include "files/fetch.h"

namespace fwl {

FetchResult fetch_known(const KnownData& data, const std::string& data_folder, Console& console);

}  // namespace fwl
