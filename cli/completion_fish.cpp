#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/argument_parser.h"
#include "cli/completion.h"

namespace fwl {
namespace {

// fish declares long flags with -l and short ones with -s.
std::string flag_option(const std::string& flag) {
  return flag.starts_with("--") ? "-l " + flag.substr(2) : "-s " + flag.substr(1);
}

std::string value_option(const Field& field) {
  if (field.is_boolean()) return {};
  return field.allowed.empty()
             ? " -r"
             : fmt::format(" -x -a {}", shell_quoted(fmt::format("{}", fmt::join(field.allowed, " "))));
}

std::string lines_of(const Command& command) {
  std::string lines;
  const auto add = [&](const std::string& options, const std::string& help) {
    lines += fmt::format("complete -c fwl -n '__fish_seen_subcommand_from {}' {} -d {}\n", command.name, options,
                         shell_quoted(help));
  };
  add("-l help", "show all flags");
  for (const auto& flag : common_flags()) add(flag_option(flag.name) + (flag.type.empty() ? "" : " -r"), flag.help);
  for (const auto& field : command.fields.shown()) {
    if (field.is_positional) {
      if (!field.allowed.empty())
        add("-a " + shell_quoted(fmt::format("{}", fmt::join(field.allowed, " "))), field.help);
      continue;
    }
    for (const auto& flag : field.flags()) add(flag_option(flag) + value_option(field), field.help);
    if (field.is_boolean()) add("-l no-" + field.flag().substr(2), "not: " + field.help);
  }
  return lines;
}

}  // namespace

std::string fish_completion(const std::vector<Command>& commands) {
  std::string lines = "# fish completion of fwl: fwl completion fish > ~/.config/fish/completions/fwl.fish\n";
  const auto add = [&](const std::string& name, const std::string& summary) {
    lines += fmt::format("complete -c fwl -n __fish_use_subcommand -a {} -d {}\n", name, shell_quoted(summary));
  };
  add("help", "show the flags of a command");
  add("version", "show version, engine and machine");
  for (const auto& command : commands) add(command.name, command.summary);
  for (const auto& command : commands) lines += lines_of(command);
  return lines;
}

}  // namespace fwl
