// Markup from text: everything that comes from files goes through escape_html, and numbers are written for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fwl {

// Safe in elements and in quoted attributes; broken UTF-8 and control characters other than newline and tab become
// U+FFFD.
std::string escape_html(std::string_view text);

// <name attributes>content</name>; the content is markup.
std::string element(std::string_view name, std::string_view attributes, std::string_view content);

// A table that scrolls where the page is narrow, with its caption below; the rows are markup with thead and tbody.
std::string table_figure(std::string_view attributes, std::string_view rows, std::string_view caption);

// A dash where the number is not finite; with a real minus sign.
std::string shown_number(double value, int digits);
std::string shown_signed(double value, int digits);
std::string shown_count(int64_t count);         // 12,345
std::string shown_rate(double per_second);      // the same, a dash where it is not known
std::string shown_bytes(double bytes);          // 1.23 GB
std::string shown_hash(std::string_view hash);  // markup: the first digits, all of them as a tooltip

// Counts tables and figures, and heads their captions; both are captions of <figure>s, as tables scroll under theirs.
class Captions {
 public:
  std::string table(std::string_view markup);
  std::string figure(std::string_view markup);

 private:
  int tables_ = 0, figures_ = 0;
};

}  // namespace fwl
