// A subcommand: its name, what it is for, its fields (flags and TOML keys) and what it does.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/console.h"
#include "support/fields.h"

namespace fwl {

struct Command {
  std::string name;
  std::string summary;                 // one line for `fwl --help`
  std::string epilog;                  // examples for `fwl name --help`
  Fields fields;                       // bound to options that the command owns
  std::function<int(Console&)> run;    // returns the exit code
  std::shared_ptr<void> options = {};  // keeps the bound options alive
  std::string config_path = {};        // of --config, if it was given
};

// Makes a command around its own option struct: `describe(fields, options)` lists the fields once, for every source.
template <class Options, class Describe, class Run>
Command make_command(std::string name, std::string summary, std::string epilog, Describe describe, Run run) {
  auto options = std::make_shared<Options>();
  Command command{std::move(name), std::move(summary), std::move(epilog), {}, {}, options};
  describe(command.fields, *options);
  command.run = [options, run](Console& console) { return run(*options, console); };
  return command;
}

// Every subcommand, in the order of the help page.
std::vector<Command> all_commands();

// Parses and runs one command line; prints errors to the console; returns the exit code (0, 1 error, 2 usage, 128 +
// signal when interrupted).
int run_command_line(const std::vector<std::string>& arguments, Console& console);

}  // namespace fwl
