// Runs another program, captures its output and waits for it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace fwl {

struct ProcessOptions {
  std::vector<std::pair<std::string, std::string>> environment;  // added to this program's own
  // Called about ten times a second. If it throws, the other program is killed and the exception propagates.
  std::function<void()> while_waiting;
};

struct ProcessResult {
  int exit_code = 0;   // 127: could not be started; 128 + signal: was killed by it
  std::string output;  // the end of what it printed, standard output and errors together
};

// The first argument is the program, looked up in PATH. No shell is involved.
ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

// The last line of a text that is not blank, for error messages.
std::string last_words(const std::string& output);

}  // namespace fwl
