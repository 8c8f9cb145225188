#include "cli/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/version.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/near_name.h"

namespace fwl {
namespace {

// Texts given on the command line, by field; they are applied after the config file, so that flags win.
using FlagTexts = std::vector<std::pair<std::string, std::vector<std::string>>>;

void add_flag(CLI::App& app, const Field& field, FlagTexts& texts) {
  auto names = field.is_positional ? field.name : field.flag();
  if (!field.short_flag.empty()) names += ",-" + field.short_flag;
  auto& slot = texts.emplace_back(field.name, std::vector<std::string>{}).second;
  if (std::holds_alternative<bool*>(field.target)) {
    app.add_flag(names, slot, field.help);
  } else {
    auto* option = app.add_option(names, slot, field.help);
    const bool is_list = std::holds_alternative<std::vector<std::string>*>(field.target);
    is_list ? option->expected(-1) : option->expected(1)->take_last();
    option->allow_extra_args(is_list);
    option->type_name(field.type_name() + (field.is_required ? " REQUIRED" : ""));
    option->default_str(field.default_text());
  }
}

void apply_flags(Command& command, const FlagTexts& texts) {
  for (const auto& [name, values] : texts)
    if (!values.empty()) command.fields.set_texts("fwl " + command.name, name, values);
}

void apply_settings(Command& command, const std::vector<std::string>& settings) {
  for (const auto& setting : settings) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos) throw UsageError(error_line("--set", "key=value", "'" + setting + "'"));
    command.fields.set_text("--set", setting.substr(0, equals), setting.substr(equals + 1));
  }
}

// From whichever source: a required value may stand in the config file.
void require_all(const Command& command) {
  for (const auto& field : command.fields.shown())
    if (field.is_required && field.default_text().empty())
      throw UsageError(fmt::format("fwl {0}: {1} is required (see fwl {0} --help)", command.name,
                                   field.is_positional ? field.name : field.flag()));
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

void reject_extras(const CLI::App& app) {
  const auto extras = app.remaining();
  if (extras.empty()) return;
  const auto name = extras.front().substr(0, extras.front().find('='));
  const auto hint = did_you_mean(name, option_names(app));
  throw UsageError(error_line("fwl " + app.get_name(), "a known flag or argument", "'" + extras.front() + "'",
                              hint.empty() ? "see fwl " + app.get_name() + " --help" : hint));
}

int run_one(Command& command, const std::vector<std::string>& arguments, Console& console) {
  CLI::App app(command.summary, command.name);
  app.allow_extras();
  app.footer(command.epilog);
  app.get_formatter()->column_width(36);
  FlagTexts texts;
  texts.reserve(command.fields.names().size());
  for (const auto& field : command.fields.shown()) add_flag(app, field, texts);
  std::string config_path;
  std::vector<std::string> settings;
  app.add_option("--config", config_path, "read these settings from a TOML file; flags win over it");
  app.add_option("--set", settings, "key=value, one more setting, as often as you like")->take_all()->expected(1);
  auto reversed = std::vector<std::string>(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    console.out() << app.help("fwl");
    return 0;
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("fwl {}: {} (see fwl {} --help)", command.name, error.what(), command.name));
  }
  reject_extras(app);
  if (!config_path.empty()) command.fields.load_toml(config_path);
  apply_flags(command, texts);
  apply_settings(command, settings);
  require_all(command);
  command.fields.check("fwl " + command.name);
  return command.run(console);
}

void print_help(Console& console, const std::vector<Command>& commands) {
  console.out() << "fwl: language models that keep learning while they read\n\n"
                   "usage: fwl <command> [flags]      fwl <command> --help      fwl --version\n\ncommands:\n";
  for (const auto& command : commands) console.out() << fmt::format("  {:<12} {}\n", command.name, command.summary);
}

int dispatch(const std::vector<std::string>& arguments, Console& console) {
  auto commands = all_commands();
  const auto name = arguments.empty() ? std::string() : arguments.front();
  if (name.empty() || name == "--help" || name == "-h" || name == "help") {
    print_help(console, commands);
    return name.empty() ? 2 : 0;
  }
  if (name == "--version") {
    console.out() << version_text();
    return 0;
  }
  std::vector<std::string> names;
  for (auto& command : commands) {
    if (command.name == name) return run_one(command, {arguments.begin() + 1, arguments.end()}, console);
    names.push_back(command.name);
  }
  const auto hint = did_you_mean(name, names);
  throw UsageError(error_line("fwl", "a command", "'" + name + "'", hint.empty() ? "see fwl --help" : hint));
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments, Console& console) {
  try {
    return dispatch(arguments, console);
  } catch (const UsageError& error) {
    console.error(error.what());
    return 2;
  } catch (const UserError& error) {
    console.error(error.what());
    return 1;
  } catch (const Interrupted& interrupt) {
    console.error("interrupted");
    return 128 + interrupt.signal();
  } catch (const std::exception& error) {
    console.error(fmt::format("internal error: {}", error.what()));
    return 1;
  }
}

}  // namespace fwl
