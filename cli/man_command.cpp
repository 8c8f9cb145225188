// `fwl man`: prints the manual page of all commands, generated from the field lists.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "cli/argument_parser.h"
#include "cli/commands.h"

namespace fwl {
namespace {

struct ManOptions {};

// Escapes text for roff: no control lines, and dashes that stay ASCII when copied.
std::string roff(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '\\')
      escaped += "\\e";
    else if (letter == '-')
      escaped += "\\-";
    else
      escaped += letter;
  }
  return escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" + escaped : escaped;
}

std::string tagged(const std::string& tag, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", tag, roff(text));
}

std::string field_entry(const Field& field) {
  const auto value = field.is_boolean() ? std::string() : " \\fI" + roff(field.type_name()) + "\\fR";
  auto help = field.help;
  if (field.is_required)
    help += " (required)";
  else if (!field.default_text().empty())
    help += fmt::format(" (default: {})", field.default_text());
  if (field.is_positional) return tagged("\\fI" + roff(field.name) + "\\fR", help);
  std::vector<std::string> flags;
  for (const auto& flag : field.flags()) flags.push_back("\\fB" + roff(flag) + "\\fR");
  if (field.is_boolean()) flags.push_back("\\fB" + roff("--no-" + field.flag().substr(2)) + "\\fR");
  return tagged(fmt::format("{}{}", fmt::join(flags, ", "), value), help);
}

std::string examples(const std::string& epilog) {
  std::string lines = ".PP\n.nf\n";
  std::istringstream stream(epilog);
  for (std::string line; std::getline(stream, line);) lines += roff(line) + "\n";
  return lines + ".fi\n";
}

int run_man(ManOptions&, Console& console) {
  auto& out = console.out();
  out << ".TH FWL 1 \"\" \"fwl " FWL_VERSION "\" \"User Commands\"\n"
      << ".SH NAME\nfwl \\- language models that keep learning while they read\n"
      << ".SH SYNOPSIS\n.B fwl\n\\fIcommand\\fR [\\fIflags\\fR]\n.br\n.B fwl help\n\\fIcommand\\fR\n"
      << ".SH FLAGS OF EVERY COMMAND\n";
  for (const auto& flag : common_flags())
    out << tagged(fmt::format("\\fB{}\\fR \\fI{}\\fR", roff(flag.name), flag.type), flag.help);
  out << ".SH COMMANDS\n";
  for (const auto& command : all_commands()) {
    out << fmt::format(".SS fwl {}\n{}\n", command.name, roff(command.summary));
    for (const auto& field : command.fields.shown()) out << field_entry(field);
    if (!command.epilog.empty()) out << examples(command.epilog);
  }
  return 0;
}

}  // namespace

Command man_command() {
  return make_command<ManOptions>(
      "man", "print the manual page of all commands", "example: fwl man | man -l -", [](Fields&, ManOptions&) {},
      run_man);
}

}  // namespace fwl
