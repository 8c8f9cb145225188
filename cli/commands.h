// Every subcommand of the program; each is defined in cli/<name>_command.cpp.
#pragma once

#include "cli/command.h"

namespace fwl {

Command get_command();
Command tokenize_command();
Command vocabulary_command();
Command inspect_command();
Command plan_command();
Command train_command();
Command attach_command();
Command perplexity_command();
Command tune_command();
Command fewshot_command();
Command analyze_command();
Command report_command();
Command bench_command();
Command generate_command();
Command chat_command();
Command read_command();
Command session_command();
Command serve_command();
Command reproduce_command();
Command completion_command();
Command man_command();

}  // namespace fwl
