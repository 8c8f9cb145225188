#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/argument_parser.h"
#include "cli/completion.h"

namespace fwl {
namespace {

std::string flags_of(const Command& command) {
  std::string words = "--help";
  for (const auto& flag : common_flags()) words += " " + flag.name;
  for (const auto& field : command.fields.shown()) {
    if (field.is_positional) continue;
    for (const auto& flag : field.flags()) words += " " + flag;
    if (field.is_boolean()) words += " --no-" + field.flag().substr(2);
  }
  return words;
}

// The choices of flags and of positional arguments.
std::string choices_of(const Command& command) {
  std::string cases;
  for (const auto& field : command.fields.shown()) {
    if (field.allowed.empty()) continue;
    for (const auto& flag : field.flags())
      if (!field.is_positional)
        cases += fmt::format("    {}:{}) words=\"{}\" ;;\n", command.name, flag, fmt::join(field.allowed, " "));
    if (field.is_positional)
      cases += fmt::format("    {0}:{0}) words=\"{1}\" ;;\n", command.name, fmt::join(field.allowed, " "));
  }
  return cases;
}

}  // namespace

std::string bash_completion(const std::vector<Command>& commands) {
  std::string names = "help version", choices, flags;
  for (const auto& command : commands) {
    names += " " + command.name;
    choices += choices_of(command);
    flags += fmt::format("    {}) words=\"{}\" ;;\n", command.name, flags_of(command));
  }
  return fmt::format(R"(# bash completion of fwl: source <(fwl completion bash)
_fwl() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} words=
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 || ( $COMP_CWORD -eq 2 && $command == help ) ]]; then
    COMPREPLY=($(compgen -W "{}" -- "$current"))
    return
  fi
  case $command:$previous in
{}  esac
  [[ $current == -* ]] && case $command in
{}  esac
  [[ -n $words ]] && COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _fwl fwl
)",
                     names, choices, flags);
}

}  // namespace fwl
