#include "support/printable_stream.h"

#include <fmt/format.h>

#include <cstdint>

namespace fwl {

std::streambuf::int_type PrintableStream::Buffer::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
  const auto byte = static_cast<uint8_t>(character);
  if (is_after_c2_ && byte >= 0x80 && byte < 0xA0) {
    target_ << fmt::format("\\u00{:02x}", byte);
    is_after_c2_ = false;
    return target_ ? character : traits_type::eof();
  }
  if (is_after_c2_) target_.put('\xC2');
  is_after_c2_ = byte == 0xC2;
  const bool is_control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
  if (is_control)
    target_ << fmt::format("\\u00{:02x}", byte);
  else if (!is_after_c2_)
    target_.put(static_cast<char>(byte));
  return target_ ? character : traits_type::eof();
}

int PrintableStream::Buffer::sync() {
  target_.flush();
  return target_ ? 0 : -1;
}

}  // namespace fwl
