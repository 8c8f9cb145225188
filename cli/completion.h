// Completion of commands, flags and choices for shells, made from the field lists.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace fwl {

std::string bash_completion(const std::vector<Command>& commands);
std::string zsh_completion(const std::vector<Command>& commands);
std::string fish_completion(const std::vector<Command>& commands);

// In single quotes, as every shell reads it.
std::string shell_quoted(const std::string& text);

}  // namespace fwl
