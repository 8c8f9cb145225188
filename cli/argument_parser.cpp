#include "cli/argument_parser.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "files/memory_map.h"
#include "support/error.h"
#include "support/near_name.h"

namespace fwl {
namespace {

// Values given on the command line, by field. They are applied after the config file, so flags override it.
using FlagTexts = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct CommonTexts {
  std::string config_path;
  std::vector<std::string> settings;
  bool prints_config = false;
};

std::string boolean_help(const Field& field) {
  const bool is_on = field.default_text() == "true";
  return fmt::format("{} (default: {})", field.help,
                     is_on ? fmt::format("true; --no-{} turns it off", field.flag().substr(2)) : "false");
}

void add_flag(CLI::App& app, const Field& field, FlagTexts& texts) {
  std::string names = field.is_positional ? field.name : std::string();
  if (!field.is_positional)
    for (const auto& flag : field.flags()) names += (names.empty() ? "" : ",") + flag;
  auto& slot = texts.emplace_back(field.name, std::vector<std::string>{}).second;
  if (field.is_boolean()) {
    app.add_flag(names, slot, boolean_help(field));
    return;
  }
  auto* option = app.add_option(names, slot, field.help);
  field.is_list() ? option->expected(-1) : option->expected(1)->take_last();
  option->allow_extra_args(field.is_list());
  option->type_name(field.type_name() + (field.is_required ? " REQUIRED" : ""));
  option->default_str(field.default_text());
}

void add_all(CLI::App& app, Command& command, FlagTexts& texts, CommonTexts& common) {
  app.allow_extras();
  app.footer(command.epilog);
  app.get_formatter()->column_width(36);
  texts.reserve(command.fields.names().size());
  for (const auto& field : command.fields.shown()) add_flag(app, field, texts);
  const auto& flags = common_flags();
  app.add_option(flags[0].name, common.config_path, flags[0].help)->type_name(flags[0].type);
  app.add_option(flags[1].name, common.settings, flags[1].help)->type_name(flags[1].type)->take_all()->expected(1);
  app.add_flag(flags[2].name, common.prints_config, flags[2].help);
}

// The main flag of the boolean field that `flag` names; empty if there is none.
std::string boolean_flag(const std::vector<Field>& fields, const std::string& flag) {
  for (const auto& field : fields) {
    const auto flags = field.flags();
    if (field.is_boolean() && std::ranges::find(flags, flag) != flags.end()) return field.flag();
  }
  return {};
}

// Rewrites "--no-x" and "--x false" to "--x=false".
std::vector<std::string> joined_booleans(const Command& command, const std::vector<std::string>& arguments) {
  const auto fields = command.fields.shown();
  std::vector<std::string> joined;
  for (size_t index = 0; index < arguments.size(); ++index) {
    const auto& argument = arguments[index];
    const auto negated =
        argument.starts_with("--no-") ? boolean_flag(fields, "--" + argument.substr(5)) : std::string();
    const bool has_value =
        index + 1 < arguments.size() && (arguments[index + 1] == "true" || arguments[index + 1] == "false");
    if (!negated.empty())
      joined.push_back(negated + "=false");
    else if (const auto flag = has_value ? boolean_flag(fields, argument) : std::string(); !flag.empty())
      joined.push_back(flag + "=" + arguments[++index]);
    else
      joined.push_back(argument);
  }
  return joined;
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

// Runs after all sources: a required value may come from the config file.
void require_all(const Command& command) {
  for (const auto& field : command.fields.shown())
    if (field.is_required && field.default_text().empty())
      throw UsageError(fmt::format("fwl {0}: {1} is required (see fwl {0} --help)", command.name,
                                   field.is_positional ? field.name : field.flag()));
}

std::vector<std::string> long_flags(const Command& command) {
  std::vector<std::string> names;
  for (const auto& flag : common_flags()) names.push_back(flag.name);
  for (const auto& field : command.fields.shown())
    for (const auto& flag : field.flags())
      if (!field.is_positional && flag.starts_with("--")) {
        names.push_back(flag);
        if (field.is_boolean()) names.push_back("--no-" + flag.substr(2));
      }
  return names;
}

[[noreturn]] void reject_argument(const Command& command, const std::string& argument, const std::string& hint) {
  throw UsageError(error_line("fwl " + command.name, "a known flag or argument", "'" + argument + "'",
                              hint.empty() ? "see fwl " + command.name + " --help" : hint));
}

// Rejects "-context", which would be parsed as "-c ontext".
void reject_single_dashes(const Command& command, const std::vector<std::string>& arguments) {
  const auto names = long_flags(command);
  for (size_t index = 0; index < arguments.size(); ++index) {
    const auto& argument = arguments[index];
    const bool may_be_value = index > 0 && arguments[index - 1].starts_with('-');
    if (may_be_value || argument.starts_with("--") || !argument.starts_with('-') || argument.size() < 3) continue;
    const auto meant = "-" + argument.substr(0, argument.find('='));
    if (std::ranges::find(names, meant) != names.end())
      reject_argument(command, argument, "did you mean " + meant + "?");
  }
}

// Suggests long flags only: any one-letter flag is close to every other.
void reject_extras(const Command& command, const CLI::App& app) {
  const auto extras = app.remaining();
  if (extras.empty()) return;
  const auto name = extras.front().substr(0, extras.front().find('='));
  const bool is_short = name.starts_with('-') && !name.starts_with("--");
  reject_argument(command, extras.front(), is_short ? std::string() : did_you_mean(name, long_flags(command)));
}

}  // namespace

const std::vector<CommonFlag>& common_flags() {
  static const std::vector<CommonFlag> flags = {
      {"--config", "FILE", "read settings from a TOML file; flags override it"},
      {"--set", "KEY=VALUE", "set one option; can be repeated"},
      {"--print-config", "", "print the settings of this command as TOML, for --config, and exit"}};
  return flags;
}

Request parse_arguments(Command& command, const std::vector<std::string>& arguments) {
  CLI::App app(command.summary, command.name);
  FlagTexts texts;
  CommonTexts common;
  add_all(app, command, texts, common);
  reject_single_dashes(command, arguments);
  auto reversed = joined_booleans(command, arguments);
  std::ranges::reverse(reversed);
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return Request::show_help;
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();  // "--context: 1 required INT missing"
    throw UsageError(
        fmt::format("fwl {0}: {1} needs a value (see fwl {0} --help)", command.name, text.substr(0, text.find(':'))));
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("fwl {}: {} (see fwl {} --help)", command.name, error.what(), command.name));
  }
  reject_extras(command, app);
  command.config_path = common.config_path;
  if (!common.config_path.empty()) command.fields.load_toml(common.config_path, MemoryMap(common.config_path).text());
  apply_flags(command, texts);
  apply_settings(command, common.settings);
  require_all(command);
  command.fields.check("fwl " + command.name);
  return common.prints_config ? Request::print_config : Request::run;
}

std::string help_text(Command& command) {
  CLI::App app(command.summary, command.name);
  FlagTexts texts;
  CommonTexts common;
  add_all(app, command, texts, common);
  return app.help("fwl");
}

}  // namespace fwl
