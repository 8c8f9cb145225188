// Sets a command's fields from flags, a config file and --set; prints its help from the same list.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace fwl {

// A flag that every command accepts.
struct CommonFlag {
  std::string name, type, help;  // type: empty for a flag without a value
};
const std::vector<CommonFlag>& common_flags();

enum class Request { run, show_help, print_config };

// Sets the command's fields and checks them. Throws UsageError for unknown arguments.
Request parse_arguments(Command& command, const std::vector<std::string>& arguments);

std::string help_text(Command& command);

}  // namespace fwl
