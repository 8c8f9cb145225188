// The list of subcommands, in the order of the help page.
#include "cli/commands.h"

namespace fwl {

std::vector<Command> all_commands() {
  std::vector<Command> commands;
  commands.push_back(get_command());
  commands.push_back(vocabulary_command());
  commands.push_back(tokenize_command());
  commands.push_back(inspect_command());
  commands.push_back(plan_command());
  commands.push_back(train_command());
  commands.push_back(attach_command());
  commands.push_back(perplexity_command());
  commands.push_back(tune_command());
  commands.push_back(fewshot_command());
  commands.push_back(analyze_command());
  commands.push_back(report_command());
  commands.push_back(bench_command());
  commands.push_back(generate_command());
  commands.push_back(chat_command());
  commands.push_back(read_command());
  commands.push_back(session_command());
  commands.push_back(serve_command());
  commands.push_back(reproduce_command());
  commands.push_back(completion_command());
  commands.push_back(man_command());
  return commands;
}

}  // namespace fwl
