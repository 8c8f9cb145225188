#include "support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>

#include "support/error.h"

namespace fwl {
namespace {

constexpr size_t kept_output_bytes = 16 << 10;
constexpr int poll_milliseconds = 100;

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const ProcessOptions& options) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : options.environment) variables.push_back(name + "=" + value);
  for (char** variable = environ; *variable; ++variable) {
    const std::string text = *variable;
    bool is_replaced = false;
    for (const auto& [name, value] : options.environment) is_replaced |= text.starts_with(name + "=");
    if (!is_replaced) variables.push_back(text);
  }
  return variables;
}

// A child process, which is killed if this object is destroyed before it ends.
class Child {
 public:
  Child(std::vector<std::string> arguments, std::vector<std::string> environment) {
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) fail_with_errno(arguments.front(), "start");
    output_ = pipe_ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
    posix_spawnattr_t attributes;  // this program ignores SIGPIPE; others expect to end by it
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    start_error_ = posix_spawnp(&process_, arguments.front().c_str(), &actions, &attributes,
                                pointers_to(arguments).data(), pointers_to(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
  }
  ~Child() {
    close(output_);
    if (start_error_ != 0 || is_finished_) return;
    kill(process_, SIGTERM);
    waitpid(process_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int start_error() const { return start_error_; }

  // False once the program has closed its output.
  bool read_output(std::string& output) {
    pollfd waiting{output_, POLLIN, 0};
    if (poll(&waiting, 1, poll_milliseconds) <= 0) return true;
    char block[4096];
    const auto count = read(output_, block, sizeof block);
    if (count < 0) return errno == EINTR;
    output.append(block, static_cast<size_t>(count));
    if (output.size() > kept_output_bytes) output.erase(0, output.size() - kept_output_bytes);
    return count > 0;
  }

  int wait() {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
    is_finished_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t process_ = 0;
  int output_ = -1;
  int start_error_ = 0;
  bool is_finished_ = false;
};

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  Child child(arguments, environment_with(options));
  ProcessResult result;
  if (child.start_error() != 0)
    return {127, "cannot start " + arguments.front() + ": " + std::strerror(child.start_error())};
  while (child.read_output(result.output))
    if (options.while_waiting) options.while_waiting();
  result.exit_code = child.wait();
  return result;
}

std::string last_words(const std::string& output) {
  std::istringstream lines(output);
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  return last.empty() ? "it said nothing" : last;
}

}  // namespace fwl
