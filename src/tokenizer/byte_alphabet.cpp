#include "tokenizer/byte_alphabet.h"

#include <array>

#include "tokenizer/utf8.h"

namespace fwl {
namespace {

bool names_itself(int byte) {
  return (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
}

struct Alphabet {
  std::array<std::string, 256> names;
  std::array<int, 0x144> bytes;  // by code point; -1: none

  Alphabet() {
    bytes.fill(-1);
    char32_t next_name = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const auto name = names_itself(byte) ? static_cast<char32_t>(byte) : next_name++;
      append_utf8(name, names[static_cast<size_t>(byte)]);
      bytes[name] = byte;
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

}  // namespace

const std::string& name_of_byte(unsigned char byte) {
  return alphabet().names[byte];
}

std::optional<std::string> bytes_from_names(std::string_view names) {
  std::string result;
  while (!names.empty()) {
    const auto [value, length] = first_code_point(names);
    const bool is_known = length > 0 && value < alphabet().bytes.size() && alphabet().bytes[value] >= 0;
    if (!is_known) return std::nullopt;
    result += static_cast<char>(alphabet().bytes[value]);
    names.remove_prefix(length);
  }
  return result;
}

}  // namespace fwl
