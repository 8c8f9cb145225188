#include "support/printable.h"

#include <fmt/format.h>

#include <cstdint>

namespace fwl {

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((static_cast<uint8_t>(text[i]) & 0xC0) != 0x80) return 0;
  const auto second = static_cast<uint8_t>(text[1]);
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_surrogate = first == 0xED && second >= 0xA0;
  const bool is_too_large = first == 0xF4 && second >= 0x90;
  return is_overlong || is_surrogate || is_too_large ? 0 : length;
}

std::string printable(std::string_view text, size_t longest) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= longest) return out + "…";
    const auto length = utf8_length(text);
    const auto shown = text.substr(0, length ? length : 1);
    const auto first = static_cast<uint8_t>(shown[0]);
    const bool is_control =
        first < 0x20 || first == 0x7F || (length == 2 && first == 0xC2 && static_cast<uint8_t>(shown[1]) < 0xA0);
    if (length && !is_control)
      out += shown;
    else if (first == '\n')
      out += "\\n";
    else
      for (const char byte : shown) out += fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
    text.remove_prefix(shown.size());
  }
  return out;
}

}  // namespace fwl
