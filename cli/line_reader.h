// Lines that a person types: with editing and history in a terminal, as they come otherwise.
#pragma once

#include <optional>
#include <ostream>
#include <string>

namespace fwl {

class LineReader {
 public:
  // In a terminal the history is kept in the file, across conversations; empty: it is not kept.
  LineReader(std::ostream& out, std::string history_path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Nothing: the input has ended.
  std::optional<std::string> next(const std::string& prompt);

 private:
  std::ostream& out_;
  std::string history_path_;
  bool is_terminal_;
};

}  // namespace fwl
