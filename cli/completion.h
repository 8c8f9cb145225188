// Shell completion of commands, flags and choices, generated from the field lists.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace fwl {

std::string bash_completion(const std::vector<Command>& commands);
std::string zsh_completion(const std::vector<Command>& commands);
std::string fish_completion(const std::vector<Command>& commands);

// `text` in single quotes, for any shell.
std::string shell_quoted(const std::string& text);

}  // namespace fwl
