// The program: one process, one command line, one exit code.
#include <unistd.h>

#include <csignal>
#include <iostream>

#include "cli/command.h"
#include "support/allocator.h"
#include "support/cpu.h"

int main(int argument_count, char** arguments) {
  fwl::protect_engine_from_broken_amx();
  fwl::keep_freed_memory();
  std::signal(SIGPIPE, SIG_IGN);                // a closed pipe is an error of the write, like a full disk
  std::cout.exceptions(std::ios_base::badbit);  // and ends the command
  fwl::Console console(std::cout, std::cerr, isatty(STDERR_FILENO) != 0, isatty(STDOUT_FILENO) != 0);
  return fwl::run_command_line({arguments + 1, arguments + argument_count}, console);
}
