#include "files/byte_reader.h"

#include <fmt/format.h>

#include "support/error.h"

namespace fwl {

std::span<const std::byte> ByteReader::read_bytes(uint64_t count, std::string_view what) {
  expect_room(count, 1, what);
  const auto bytes = bytes_.subspan(position_, count);
  position_ += count;
  return bytes;
}

std::string_view ByteReader::read_text(uint64_t count, std::string_view what) {
  const auto bytes = read_bytes(count, what);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void ByteReader::expect_room(uint64_t count, uint64_t item_bytes, std::string_view what) const {
  if (count <= left() / item_bytes) return;
  const auto needed =
      item_bytes == 1 ? fmt::format("{} bytes", count) : fmt::format("{} x {} bytes", count, item_bytes);
  fail(where_, fmt::format("{} for {} at offset {}", needed, what, position_), fmt::format("{} bytes", left()),
       "the file is cut short or damaged");
}

}  // namespace fwl
