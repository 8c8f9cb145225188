// What a user may call a model or an adapter: a path, a name that `fwl get` knows or that comes along, a run's folder.
#pragma once

#include <string>

#include "cli/console.h"

namespace fwl {

// Each gives a path, in one line of its own where that is not what was given. Throws UserError for what is something
// else, naming it: an adapter where a model is asked for, a run that has no model yet.
std::string find_model(const std::string& flag, const std::string& name, Console& console);
std::string find_adapter(const std::string& name, Console& console);  // an empty name stays empty

// For vocabularies: a name that `fwl get` knows becomes its file, any other stays as it is.
std::string find_tokenizer(const std::string& name, Console& console);

}  // namespace fwl
