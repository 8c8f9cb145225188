#include "report/html.h"

#include <fmt/format.h>

#include <cmath>

#include "support/printable.h"

namespace fwl {
namespace {

constexpr std::string_view replacement_character = "\xEF\xBF\xBD", minus_sign = "\xE2\x88\x92";

bool is_control_character(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (first == 0xC2) return static_cast<unsigned char>(character[1]) < 0xA0;
  return first == 0x7F || (first < 0x20 && first != '\n' && first != '\t');
}

std::string_view escape_of(char letter) {
  switch (letter) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto length = utf8_length(text);
    const auto character = text.substr(0, length ? length : 1);
    const auto escape = escape_of(character[0]);
    if (length == 0 || is_control_character(character))
      out += replacement_character;
    else
      out += escape.empty() ? character : escape;
    text.remove_prefix(character.size());
  }
  return out;
}

std::string element(std::string_view name, std::string_view attributes, std::string_view content) {
  return fmt::format("<{}{}{}>{}</{}>", name, attributes.empty() ? "" : " ", attributes, content, name);
}

std::string shown_number(double value, int digits) {
  if (!std::isfinite(value)) return "–";
  auto text = fmt::format("{:.{}f}", std::abs(value), digits);
  const bool is_zero = text.find_first_not_of("0.") == std::string::npos;
  return value < 0 && !is_zero ? std::string(minus_sign) + text : text;
}

std::string shown_signed(double value, int digits) {
  const auto text = shown_number(value, digits);
  return std::isfinite(value) && !text.starts_with(minus_sign) ? "+" + text : text;
}

std::string shown_count(int64_t count) {
  const auto digits = std::to_string(count);
  std::string text;
  for (size_t place = 0; place < digits.size(); ++place) {
    text += digits[place];
    const size_t left = digits.size() - place - 1;
    if (left > 0 && left % 3 == 0 && digits[place] != '-') text += ',';
  }
  return text;
}

std::string shown_rate(double per_second) {
  return per_second > 0 && per_second < 1e15 ? shown_count(std::llround(per_second)) : "–";
}

std::string shown_bytes(double bytes) {
  if (!(bytes > 0)) return "–";
  const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  return fmt::format("{:.{}f} {}", bytes, bytes < 10 ? 2 : bytes < 100 ? 1 : 0, units[unit]);
}

std::string shown_hash(std::string_view hash) {
  if (hash.empty()) return "–";
  constexpr size_t shown = 16;
  constexpr std::string_view kind = "sha256:";
  const auto digits = hash.starts_with(kind) ? hash.substr(kind.size()) : hash;
  return fmt::format("<code title=\"{}\">{}</code>", escape_html(hash), escape_html(digits.substr(0, shown)));
}

std::string table_figure(std::string_view attributes, std::string_view rows, std::string_view caption) {
  return fmt::format("<figure class=\"table\">\n<div class=\"scroll\"><table{}{}>\n{}</table></div>\n{}</figure>\n",
                     attributes.empty() ? "" : " ", attributes, rows, caption);
}

std::string Captions::table(std::string_view markup) {
  return fmt::format("<figcaption><b>Table {}.</b> {}</figcaption>\n", ++tables_, markup);
}

std::string Captions::figure(std::string_view markup) {
  return fmt::format("<figcaption><b>Figure {}.</b> {}</figcaption>\n", ++figures_, markup);
}

}  // namespace fwl
