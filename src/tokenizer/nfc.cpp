#include "tokenizer/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "tokenizer/utf8.h"

namespace fwl {
namespace {

// Characters below U+0300 are their own normal form and do not combine with the one before.
constexpr unsigned char first_lead_to_check = 0xCC;

// U+11A7 comes right before the Hangul final consonants; utf8proc 2.8 mistakes it for one and drops it.
constexpr std::string_view before_hangul_finals = "\u11A7";

void append_normalized(std::string_view valid, std::string& result) {
  utf8proc_uint8_t* normalized = nullptr;
  const auto length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(valid.data()), static_cast<utf8proc_ssize_t>(valid.size()),
                   &normalized, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (length < 0) throw std::bad_alloc();
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(normalized, &std::free);
  result.append(reinterpret_cast<const char*>(normalized), static_cast<size_t>(length));
}

}  // namespace

bool is_nfc(std::string_view text) {
  for (const unsigned char byte : text)
    if (byte >= first_lead_to_check) return false;
  return true;
}

std::string to_nfc(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto valid = valid_utf8_prefix(text);
    for (auto rest = text.substr(0, valid); !rest.empty();) {
      const auto length = std::min(rest.find(before_hangul_finals, 1), rest.size());
      append_normalized(rest.substr(0, length), result);
      rest.remove_prefix(length);
    }
    text.remove_prefix(valid);
    if (text.empty()) break;
    result += text[0];
    text.remove_prefix(1);
  }
  return result;
}

}  // namespace fwl
