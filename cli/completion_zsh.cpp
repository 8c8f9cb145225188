#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/argument_parser.h"
#include "cli/completion.h"

namespace fwl {
namespace {

// Escapes the characters that are special inside a specification's brackets.
std::string explanation(const std::string& help) {
  std::string escaped;
  for (const char letter : help) {
    if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

std::string values_of(const Field& field) {
  return field.allowed.empty() ? "_files" : fmt::format("({})", fmt::join(field.allowed, " "));
}

std::string specifications(const Command& command) {
  std::string lines;
  const auto add = [&](const std::string& specification) {
    lines += "        " + shell_quoted(specification) + " \\\n";
  };
  for (const auto& flag : common_flags())
    add(fmt::format("{}{}[{}]{}", flag.type.empty() ? "" : "*", flag.name, explanation(flag.help),
                    flag.type.empty() ? "" : ":value:_files"));
  for (const auto& field : command.fields.shown()) {
    if (field.is_positional) {
      add(fmt::format("*:{}:{}", field.name, values_of(field)));
      continue;
    }
    for (const auto& flag : field.flags())
      add(fmt::format("*{}[{}]{}", flag, explanation(field.help),
                      field.is_boolean() ? "" : ":value:" + values_of(field)));
    if (field.is_boolean()) add(fmt::format("*--no-{}[not\\: {}]", field.flag().substr(2), explanation(field.help)));
  }
  return lines + "        '--help[show all flags]'";
}

}  // namespace

std::string zsh_completion(const std::vector<Command>& commands) {
  std::string names, cases;
  for (const auto& command : commands) {
    names += "    " + shell_quoted(command.name + ":" + command.summary) + "\n";
    cases += fmt::format("    {})\n      _arguments \\\n{}\n      ;;\n", command.name, specifications(command));
  }
  return fmt::format(R"(#compdef fwl
# zsh completion of fwl: fwl completion zsh > a file _fwl in a folder of $fpath, or source <(fwl completion zsh)
_fwl() {{
  local -a commands
  commands=(
    'help:show the flags of a command'
    'version:show version, engine and machine'
{}  )
  if (( CURRENT == 2 )) || [[ CURRENT -eq 3 && $words[2] == help ]]; then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
compdef _fwl fwl
)",
                     names, cases);
}

}  // namespace fwl
