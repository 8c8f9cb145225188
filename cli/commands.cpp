// The list of subcommands, in the order of the help page.
#include "cli/command.h"

namespace fwl {

std::vector<Command> all_commands() {
  std::vector<Command> commands;
  return commands;
}

}  // namespace fwl
