// The list of subcommands of a program that only serves: small enough to be built under the sanitizers (make
// fuzz-server).
#include "cli/commands.h"

namespace fwl {

std::vector<Command> all_commands() {
  return {serve_command()};
}

}  // namespace fwl
