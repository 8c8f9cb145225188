#include "cli/command.h"

#include <fmt/format.h>

#include <cerrno>

#include "cli/argument_parser.h"
#include "cli/failure.h"
#include "cli/output_check.h"
#include "cli/version.h"
#include "support/error.h"
#include "support/near_name.h"

namespace fwl {
namespace {

int run_one(Command& command, const std::vector<std::string>& arguments, Console& console) {
  switch (parse_arguments(command, arguments)) {
    case Request::show_help:
      console.out() << help_text(command);
      return 0;
    case Request::print_config:
      console.out() << command.fields.to_toml();
      return 0;
    case Request::run:
      break;
  }
  check_outputs(command);
  return command.run(console);
}

void print_help(Console& console, const std::vector<Command>& commands) {
  console.out() << "fwl: language models that keep learning while they read\n\n"
                   "usage: fwl <command> [flags]      fwl help <command>      fwl version\n\ncommands:\n";
  for (const auto& command : commands) console.out() << fmt::format("  {:<12} {}\n", command.name, command.summary);
}

Command& find_command(std::vector<Command>& commands, const std::string& name) {
  std::vector<std::string> names = {"help", "version"};
  for (auto& command : commands) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  const auto hint = did_you_mean(name, names);
  throw UsageError(error_line("fwl", "a command", "'" + name + "'", hint.empty() ? "see fwl help" : hint));
}

int dispatch(const std::vector<std::string>& arguments, Console& console) {
  auto commands = all_commands();
  const auto name = arguments.empty() ? std::string() : arguments.front();
  const bool asks_for_help = name == "--help" || name == "-h" || name == "help";
  if (name.empty() || (asks_for_help && arguments.size() == 1)) {
    print_help(console, commands);
    return name.empty() ? 2 : 0;
  }
  if (asks_for_help) {
    console.out() << help_text(find_command(commands, arguments[1]));
    return 0;
  }
  if (name == "--version" || name == "version") {
    console.out() << version_text();
    return 0;
  }
  return run_one(find_command(commands, name), {arguments.begin() + 1, arguments.end()}, console);
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments, Console& console) {
  try {
    const int code = dispatch(arguments, console);
    errno = 0;
    console.out().flush();
    return code;
  } catch (...) {
    return report_failure(console);
  }
}

}  // namespace fwl
