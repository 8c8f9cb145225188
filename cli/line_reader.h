// Reads lines from standard input, with editing and history in a terminal.
#pragma once

#include <optional>
#include <ostream>
#include <string>

namespace fwl {

class LineReader {
 public:
  // In a terminal, the file keeps the history across conversations; an empty path keeps none.
  LineReader(std::ostream& out, std::string history_path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Empty at the end of the input.
  std::optional<std::string> next(const std::string& prompt);

 private:
  std::ostream& out_;
  std::string history_path_;
  bool is_terminal_;
};

}  // namespace fwl
