#include "cli/console.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "support/printable.h"

namespace fwl {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Console::Console(std::ostream& results, std::ostream& errors, bool is_terminal, bool is_result_terminal)
    : results_(results),
      errors_(errors),
      printable_(results),
      printable_errors_(errors),
      is_terminal_(is_terminal),
      is_result_terminal_(is_result_terminal) {
  printable_.exceptions(results.exceptions());  // a filter must not hide errors
}

void Console::ignore_output_errors() {
  printable_.exceptions(std::ios_base::goodbit);
  results_.exceptions(std::ios_base::goodbit);
}

void Console::clear_progress_line() {
  if (has_progress_line_) errors_ << "\r\033[K";
  has_progress_line_ = false;
}

void Console::note(const std::string& line) {
  if (!is_quiet_) print_line(line);
}

void Console::print_line(const std::string& line) {
  clear_progress_line();
  printable_errors_ << line << std::endl;
}

void Console::error(const std::string& line) {
  constexpr size_t longest = 4000;
  print_line("fwl: " + printable(line, longest));  // one line, whatever a file name contains
}

ProgressReport Console::progress(std::string label) {
  if (is_quiet_) return [](const ProgressEvent&) {};
  const auto start = Clock::now();
  const double first = is_terminal_ ? 0.5 : 2.0;
  const double interval = is_terminal_ ? 0.1 : 10.0;
  return [this, label = std::move(label), start, next = first, interval](const ProgressEvent& event) mutable {
    const double elapsed = seconds_since(start);
    const bool is_done = event.total > 0 && event.done >= event.total;
    if (is_done && std::isinf(next)) return;
    if (is_done) {
      clear_progress_line();
      if (elapsed >= 2.0) printable_errors_ << progress_text(label, event, elapsed) << std::endl;
      next = std::numeric_limits<double>::infinity();
    } else if (elapsed >= next) {
      next = elapsed + interval;
      clear_progress_line();
      printable_errors_ << progress_text(label, event, elapsed);
      is_terminal_ ? printable_errors_.flush() : printable_errors_ << std::endl;
      has_progress_line_ = is_terminal_;
    }
  };
}

std::string format_duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(std::max(0.0, seconds)));
  const auto hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
  return hours ? fmt::format("{}:{:02}:{:02}", hours, minutes, rest) : fmt::format("{}:{:02}", minutes, rest);
}

std::string format_amount(double amount, const std::string& unit) {
  constexpr const char* prefixes[] = {"", "k", "M", "G", "T"};
  int step = 0;
  while (std::abs(amount) >= 1000 && step < 4) {
    amount /= 1000;
    ++step;
  }
  const auto number = step ? fmt::format("{:.3g}", amount) : fmt::format("{:.4g}", amount);
  if (unit == "bytes") return fmt::format("{} {}B", number, prefixes[step]);
  return fmt::format("{}{} {}", number, step ? fmt::format(" {}", prefixes[step]) : "", unit);
}

std::string progress_text(const std::string& label, const ProgressEvent& event, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(event.done) / seconds : 0;
  auto text = label;
  const bool is_done = event.total > 0 && event.done >= event.total;
  if (is_done) {
    text +=
        fmt::format("  {} in {}", format_amount(static_cast<double>(event.done), event.unit), format_duration(seconds));
  } else if (event.total > 0) {
    text += fmt::format("  {} %", 100 * event.done / event.total);
  } else {
    text += fmt::format("  {}", format_amount(static_cast<double>(event.done), event.unit));
  }
  text += fmt::format("  {}/s", format_amount(rate, event.unit));
  if (!is_done && event.total > 0 && rate > 0)
    text += fmt::format("  ETA {}", format_duration(static_cast<double>(event.total - event.done) / rate));
  if (!event.note.empty()) text += "  " + event.note;
  return text;
}

}  // namespace fwl
