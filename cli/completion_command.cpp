// `fwl completion`: prints a shell's completion script.
#include "cli/commands.h"
#include "cli/completion.h"

namespace fwl {
namespace {

struct CompletionOptions {
  std::string shell;
};

void describe_completion(Fields& fields, CompletionOptions& options) {
  fields.add("shell", options.shell, "shell to complete in").positional().required().choices({"bash", "zsh", "fish"});
}

int run_completion(CompletionOptions& options, Console& console) {
  const auto commands = all_commands();
  console.out() << (options.shell == "bash"  ? bash_completion(commands)
                    : options.shell == "zsh" ? zsh_completion(commands)
                                             : fish_completion(commands));
  return 0;
}

}  // namespace

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) letter == '\'' ? quoted += "'\\''" : quoted += letter;
  return quoted + "'";
}

Command completion_command() {
  return make_command<CompletionOptions>("completion", "print the completion script for bash, zsh or fish",
                                         "examples:\n"
                                         "  source <(fwl completion bash)\n"
                                         "  fwl completion fish > ~/.config/fish/completions/fwl.fish",
                                         describe_completion, run_completion);
}

}  // namespace fwl
