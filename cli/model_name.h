// Finds a model or adapter by path, by the name of a known model or bundled adapter, or by the folder of a run.
#pragma once

#include <string>

#include "cli/console.h"

namespace fwl {

// Both return a path, and print it if it differs from `name`. Throw UserError if `name` is something else, such as an
// adapter where a model is expected, or a run that has no model yet.
std::string find_model(const std::string& flag, const std::string& name, Console& console);
std::string find_adapter(const std::string& name, Console& console);  // an empty name stays empty

// For vocabularies: the path of a model that `fwl get` knows; any other name is returned unchanged.
// Where a file or folder of this name may be: itself, or what a known name stands for.
std::vector<std::string> places_of(const std::string& name);

std::string find_tokenizer(const std::string& name, Console& console);

}  // namespace fwl
