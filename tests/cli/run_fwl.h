// Runs a command line as the program would, and keeps what it says.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "cli/command.h"

namespace fwl {

struct CommandResult {
  int exit_code = 0;
  std::string out, errors;
};

inline CommandResult run_fwl(const std::vector<std::string>& arguments) {
  std::ostringstream out, errors;
  Console console(out, errors, false);
  const int exit_code = run_command_line(arguments, console);
  return {exit_code, out.str(), errors.str()};
}

inline std::string last_line(const std::string& text) {
  const auto end = text.ends_with('\n') ? text.size() - 1 : text.size();
  const auto start = end == 0 ? 0 : text.rfind('\n', end - 1) + 1;
  return text.substr(start, end - start);
}

}  // namespace fwl
