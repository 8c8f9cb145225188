#include "cli/line_reader.h"

#include <editline/readline.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>

namespace fwl {
namespace {

constexpr int longest_history = 1000;

}  // namespace

LineReader::LineReader(std::ostream& out, std::string history_path)
    : out_(out), history_path_(std::move(history_path)), is_terminal_(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
  if (!is_terminal_) return;
  std::setlocale(LC_CTYPE, "");  // so that multi-byte characters are edited as one
  using_history();
  stifle_history(longest_history);
  if (!history_path_.empty()) read_history(history_path_.c_str());
}

// Failing to write the history is not an error.
LineReader::~LineReader() {
  if (!is_terminal_ || history_path_.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(history_path_).parent_path(), ignored);
  write_history(history_path_.c_str());
}

std::optional<std::string> LineReader::next(const std::string& prompt) {
  if (is_terminal_) {
    out_ << std::flush;
    const std::unique_ptr<char, decltype(&std::free)> line(readline(prompt.c_str()), &std::free);
    if (!line) return std::nullopt;
    if (*line) add_history(line.get());
    return std::string(line.get());
  }
  out_ << prompt << std::flush;
  std::string line;
  return std::getline(std::cin, line) ? std::optional(line) : std::nullopt;
}

}  // namespace fwl
