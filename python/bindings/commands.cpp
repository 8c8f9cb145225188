// Runs a command of the program inside Python, alone or as one rank of a process group that torch.distributed has made.
#include <unistd.h>

#include <iostream>
#include <optional>

#include "bindings.h"
#include "cli/command.h"
#include "parallel/rank_group.h"

namespace fwl {
namespace {

struct GroupScope {
  explicit GroupScope(const std::optional<std::string>& name, double timeout_seconds) {
    if (name) join_group(*name, timeout_seconds);
  }
  ~GroupScope() { leave_group(); }
};

int run_command(const std::vector<std::string>& arguments, const std::optional<std::string>& group,
                double timeout_seconds) {
  const GroupScope scope(group, timeout_seconds);
  std::ostream nowhere(nullptr);
  const bool is_first = this_group().is_first();
  const bool is_alone = !group;
  Console console(is_first ? std::cout : nowhere, std::cerr, is_alone && isatty(STDERR_FILENO) != 0,
                  is_alone && isatty(STDOUT_FILENO) != 0);
  if (!is_first) console.be_quiet();
  return run_command_line(arguments, console);
}

}  // namespace

void bind_commands(pybind11::module_& module) {
  module.def("run_command", &run_command, pybind11::arg("arguments"), pybind11::arg("group") = std::nullopt,
             pybind11::arg("timeout_seconds") = 0, pybind11::call_guard<pybind11::gil_scoped_release>(),
             "Runs a command line of fwl, as a rank of the named process group if there is one, and returns the exit "
             "code.");
}

}  // namespace fwl
