// Builds HTML: text from files goes through escape_html, and numbers are formatted for readers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fwl {

// Safe in elements and in quoted attributes. Invalid UTF-8 and control characters other than newline and tab become
// U+FFFD.
std::string escape_html(std::string_view text);

// <name attributes>content</name>; `content` is HTML.
std::string element(std::string_view name, std::string_view attributes, std::string_view content);

// A table that scrolls on narrow pages, with its caption below; `rows` is HTML with thead and tbody.
std::string table_figure(std::string_view attributes, std::string_view rows, std::string_view caption);

// A dash if the number is not finite; uses a real minus sign.
std::string shown_number(double value, int digits);
std::string shown_signed(double value, int digits);
std::string shown_count(int64_t count);         // 12,345
std::string shown_rate(double per_second);      // the same; a dash if unknown
std::string shown_bytes(double bytes);          // 1.23 GB
std::string shown_hash(std::string_view hash);  // HTML: the first digits, with all of them as a tooltip

// Numbers the captions of tables and figures. Both are captions of a <figure>, because tables scroll inside it.
class Captions {
 public:
  std::string table(std::string_view markup);
  std::string figure(std::string_view markup);

 private:
  int tables_ = 0, figures_ = 0;
};

}  // namespace fwl
