#include "cli/fetch_known.h"

#include <cstdlib>
#include <filesystem>

#include "support/error.h"

namespace fwl {
namespace {

// The user's choice, else the Python of this build, else the one in PATH.
std::string python() {
  if (const char* chosen = std::getenv("FWL_PYTHON")) return chosen;
  return std::filesystem::exists(FWL_PYTHON) ? FWL_PYTHON : "python3";
}

}  // namespace

FetchResult fetch_known(const KnownData& data, const std::string& data_folder, Console& console) {
  FetchOptions options;
  options.folder = data_folder;
  options.python = python();
  options.progress = [&](const std::string& label) { return console.progress(label); };
  try {
    return fetch(data, options);
  } catch (const UserError&) {
    for (const auto& line : placement_help(data, options.folder)) console.note(line);
    throw;
  }
}

}  // namespace fwl
