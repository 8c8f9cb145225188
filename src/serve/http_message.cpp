#include "serve/http_message.h"

#include <algorithm>
#include <string_view>

#include "support/error.h"
#include "support/printable.h"

namespace fwl {
namespace {

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  const char lower = static_cast<char>(letter | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool is_control(char letter) {
  return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F;
}

std::string decoded(std::string_view text) {
  std::string result;
  for (size_t index = 0; index < text.size(); ++index) {
    char letter = text[index];
    if (letter == '%') {
      const int high = index + 2 < text.size() ? hex_digit(text[index + 1]) : -1;
      const int low = high >= 0 ? hex_digit(text[index + 2]) : -1;
      if (low < 0) fail("request", "an address with %XX escapes", printable(text));
      letter = static_cast<char>(high * 16 + low);
      index += 2;
    }
    if (is_control(letter)) fail("request", "an address without control characters", printable(text));
    result += letter;
  }
  return result;
}

}  // namespace

std::string HttpRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

void parse_target(const std::string& target, HttpRequest& request) {
  if (!target.starts_with('/')) fail("request", "an address that starts with /", printable(target));
  const std::string_view all(target);
  const auto mark = all.find('?');
  request.path = decoded(all.substr(0, mark));
  if (mark == std::string_view::npos) return;
  auto rest = all.substr(mark + 1);
  while (!rest.empty()) {
    const auto part = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const auto equals = part.find('=');
    if (!part.empty())
      request.query[decoded(part.substr(0, equals))] =
          equals == std::string_view::npos ? std::string() : decoded(part.substr(equals + 1));
  }
}

std::string header_value(const std::string& text) {
  auto result = text;
  std::ranges::replace_if(result, is_control, ' ');
  return result;
}

}  // namespace fwl
