// Console output: results, errors, and progress for a terminal or a log.
#pragma once

#include <chrono>
#include <ostream>
#include <string>

#include "support/printable_stream.h"
#include "support/progress.h"

namespace fwl {

// Everything that is printed passes one filter, so that text from files and models cannot control the terminal.
class Console {
 public:
  // `is_terminal`: whether `errors` is a terminal, so that progress can redraw one line; likewise for `results`.
  Console(std::ostream& results, std::ostream& errors, bool is_terminal, bool is_result_terminal = false);

  std::ostream& out() { return printable_; }
  // Text as it is, where it is not shown but kept: a terminal gets the filtered one.
  std::ostream& text_out() { return is_result_terminal_ ? printable_ : results_; }
  std::ostream& error_stream() { return errors_; }
  void ignore_output_errors();  // from now on: what is left to say goes to the error stream, which flushes the results
  bool is_terminal() const { return is_terminal_; }

  void be_quiet() { is_quiet_ = true; }  // only errors from now on
  void note(const std::string& line);    // a plain line on the error stream
  void error(const std::string& line);   // "fwl: …"

  // Shows "label  42 %  12.3 MB/s  ETA 0:12": redrawn ten times a second on a terminal, one line every ten seconds in a
  // log, and nothing for work that ends within two seconds.
  ProgressReport progress(std::string label);

 private:
  void clear_progress_line();
  void print_line(const std::string& line);

  std::ostream& results_;
  std::ostream& errors_;
  PrintableStream printable_, printable_errors_;
  bool is_terminal_, is_result_terminal_;
  bool has_progress_line_ = false;
  bool is_quiet_ = false;
};

// "0:07", "12:34", "1:02:03"
std::string format_duration(double seconds);

// 1234567, "bytes" -> "1.23 MB"; 1234567, "tokens" -> "1.23 M tokens"
std::string format_amount(double amount, const std::string& unit);

// The progress text, without control characters.
std::string progress_text(const std::string& label, const ProgressEvent& event, double seconds);

}  // namespace fwl
