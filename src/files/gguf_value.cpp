#include "files/gguf_value.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "files/byte_reader.h"
#include "support/error.h"

namespace fwl {
namespace {

constexpr int deepest_array = 8;
constexpr uint64_t smallest_text = 8;    // its length
constexpr uint64_t smallest_array = 12;  // its kind and count

template <class Stored, class Kept>
GgufValue load(GgufKind kind, std::span<const std::byte> bytes) {
  Stored stored;
  std::memcpy(&stored, bytes.data(), sizeof stored);
  return {kind, static_cast<Kept>(stored)};
}

GgufValue load_fixed(GgufKind kind, std::span<const std::byte> bytes) {
  switch (kind) {
    case GgufKind::uint8:
      return load<uint8_t, uint64_t>(kind, bytes);
    case GgufKind::uint16:
      return load<uint16_t, uint64_t>(kind, bytes);
    case GgufKind::uint32:
      return load<uint32_t, uint64_t>(kind, bytes);
    case GgufKind::uint64:
      return load<uint64_t, uint64_t>(kind, bytes);
    case GgufKind::int8:
      return load<int8_t, int64_t>(kind, bytes);
    case GgufKind::int16:
      return load<int16_t, int64_t>(kind, bytes);
    case GgufKind::int32:
      return load<int32_t, int64_t>(kind, bytes);
    case GgufKind::int64:
      return load<int64_t, int64_t>(kind, bytes);
    case GgufKind::float32:
      return load<float, double>(kind, bytes);
    case GgufKind::float64:
      return load<double, double>(kind, bytes);
    default:
      return {GgufKind::boolean, bytes.front() != std::byte{0}};
  }
}

std::span<const std::byte> read_fixed(ByteReader& reader, GgufKind kind, uint64_t count) {
  reader.expect_room(count, fixed_bytes(kind), "metadata values");
  const auto bytes = reader.read_bytes(count * fixed_bytes(kind), "metadata values");
  if (kind != GgufKind::boolean) return bytes;
  for (const auto byte : bytes)
    if (byte > std::byte{1}) fail(reader.where(), "a truth value of 0 or 1", std::to_string(static_cast<int>(byte)));
  return bytes;
}

std::string_view read_text(ByteReader& reader) {
  const auto length = reader.read<uint64_t>("the length of a text");
  return reader.read_text(length, "a text");
}

GgufArray read_array(ByteReader& reader, int depth) {
  if (depth > deepest_array)
    fail(reader.where(), fmt::format("arrays nested at most {} deep", deepest_array), "deeper nesting");
  GgufArray array;
  array.kind = read_gguf_kind(reader);
  array.count = reader.read<uint64_t>("the length of an array");
  if (array.kind == GgufKind::text) {
    reader.expect_room(array.count, smallest_text, "an array of texts");
    array.texts.reserve(array.count);
    for (uint64_t i = 0; i < array.count; ++i) array.texts.push_back(read_text(reader));
  } else if (array.kind == GgufKind::array) {
    reader.expect_room(array.count, smallest_array, "an array of arrays");
    array.arrays.reserve(array.count);
    for (uint64_t i = 0; i < array.count; ++i) array.arrays.push_back(read_array(reader, depth + 1));
  } else {
    array.bytes = read_fixed(reader, array.kind, array.count);
  }
  return array;
}

template <class T>
std::optional<std::vector<T>> cast_numbers(const GgufArray& array) {
  if (fixed_bytes(array.kind) == 0) return std::nullopt;
  std::vector<T> numbers;
  numbers.reserve(array.count);
  for (uint64_t i = 0; i < array.count; ++i) {
    const auto number = gguf_cast<T>(element(array, i));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

std::string_view to_string(GgufKind kind) {
  constexpr std::string_view names[] = {"uint8",   "int8", "uint16", "int16",  "uint32", "int32",  "float32",
                                        "boolean", "text", "array",  "uint64", "int64",  "float64"};
  return names[static_cast<size_t>(kind)];
}

size_t fixed_bytes(GgufKind kind) {
  constexpr size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return sizes[static_cast<size_t>(kind)];
}

GgufKind read_gguf_kind(ByteReader& reader) {
  const auto number = reader.read<uint32_t>("the kind of a value");
  if (number > static_cast<uint32_t>(GgufKind::float64))
    fail(reader.where(), "a kind of metadata value from 0 to 12", std::to_string(number), "the file is damaged");
  return static_cast<GgufKind>(number);
}

GgufValue read_gguf_value(ByteReader& reader, GgufKind kind) {
  if (kind == GgufKind::text) return {kind, read_text(reader)};
  if (kind == GgufKind::array) return {kind, read_array(reader, 1)};
  return load_fixed(kind, read_fixed(reader, kind, 1));
}

GgufValue element(const GgufArray& array, uint64_t index) {
  const auto size = fixed_bytes(array.kind);
  return load_fixed(array.kind, array.bytes.subspan(index * size, size));
}

template <>
std::optional<bool> gguf_cast(const GgufValue& value) {
  const auto* truth = std::get_if<bool>(&value.data);
  return truth ? std::optional(*truth) : std::nullopt;
}

template <>
std::optional<int64_t> gguf_cast(const GgufValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value.data)) return *number;
  const auto* number = std::get_if<uint64_t>(&value.data);
  if (!number || *number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return static_cast<int64_t>(*number);
}

template <>
std::optional<double> gguf_cast(const GgufValue& value) {
  if (const auto* number = std::get_if<double>(&value.data)) return *number;
  if (const auto* number = std::get_if<int64_t>(&value.data)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<uint64_t>(&value.data)) return static_cast<double>(*number);
  return std::nullopt;
}

template <>
std::optional<std::string_view> gguf_cast(const GgufValue& value) {
  const auto* text = std::get_if<std::string_view>(&value.data);
  return text ? std::optional(*text) : std::nullopt;
}

template <>
std::optional<std::vector<int64_t>> gguf_cast(const GgufValue& value) {
  const auto* array = std::get_if<GgufArray>(&value.data);
  return array ? cast_numbers<int64_t>(*array) : std::nullopt;
}

template <>
std::optional<std::vector<double>> gguf_cast(const GgufValue& value) {
  const auto* array = std::get_if<GgufArray>(&value.data);
  return array ? cast_numbers<double>(*array) : std::nullopt;
}

template <>
std::optional<std::vector<std::string_view>> gguf_cast(const GgufValue& value) {
  const auto* array = std::get_if<GgufArray>(&value.data);
  return array && array->kind == GgufKind::text ? std::optional(array->texts) : std::nullopt;
}

}  // namespace fwl
