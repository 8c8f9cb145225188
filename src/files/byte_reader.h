// Reads little-endian values from untrusted bytes: every read is checked against the remaining length.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace fwl {

static_assert(std::endian::native == std::endian::little, "file formats here are little endian and read as they are");

class ByteReader {
 public:
  // `where` names the file in errors.
  ByteReader(std::string where, std::span<const std::byte> bytes) : where_(std::move(where)), bytes_(bytes) {}

  // `what` names the value in errors, e.g. "the number of tensors".
  template <class T>
  requires std::is_arithmetic_v<T> T read(std::string_view what) {
    T value;
    std::memcpy(&value, read_bytes(sizeof value, what).data(), sizeof value);
    return value;
  }

  std::span<const std::byte> read_bytes(uint64_t count, std::string_view what);
  std::string_view read_text(uint64_t count, std::string_view what);

  // Checks a count found in a file before memory is allocated: `count` items need at least `item_bytes` each.
  void expect_room(uint64_t count, uint64_t item_bytes, std::string_view what) const;

  const std::string& where() const { return where_; }
  uint64_t position() const { return position_; }
  uint64_t left() const { return bytes_.size() - position_; }

 private:
  std::string where_;
  std::span<const std::byte> bytes_;
  uint64_t position_ = 0;
};

}  // namespace fwl
