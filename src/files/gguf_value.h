// Metadata values of a GGUF file: numbers, booleans, strings and (nested) arrays, viewed in place without copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace fwl {

class ByteReader;

// The numbers are those of the file format.
enum class GgufKind : uint32_t {
  uint8 = 0,
  int8 = 1,
  uint16 = 2,
  int16 = 3,
  uint32 = 4,
  int32 = 5,
  float32 = 6,
  boolean = 7,
  text = 8,
  array = 9,
  uint64 = 10,
  int64 = 11,
  float64 = 12,
};

std::string_view to_string(GgufKind kind);  // "uint8", …, "text", "array"
size_t fixed_bytes(GgufKind kind);          // bytes of one value; 0 for strings and arrays

struct GgufArray {
  GgufKind kind = GgufKind::uint8;      // of the elements
  uint64_t count = 0;                   // of the elements
  std::span<const std::byte> bytes;     // the elements if they have a fixed size; not aligned
  std::vector<std::string_view> texts;  // the elements of an array of strings
  std::vector<GgufArray> arrays;        // the elements of an array of arrays
};

struct GgufValue {
  GgufKind kind = GgufKind::uint8;
  std::variant<uint64_t, int64_t, double, bool, std::string_view, GgufArray> data;  // by family of kinds
};

// Element `index` of an array whose elements have a fixed size.
GgufValue element(const GgufArray& array, uint64_t index);

GgufValue read_gguf_value(ByteReader& reader, GgufKind kind);
GgufKind read_gguf_kind(ByteReader& reader);

// The value as a C++ type, or nothing if it does not fit. T is one of bool, int64_t (any whole number in range),
// double (any number), std::string_view, or a std::vector of one of int64_t, double, std::string_view.
template <class T>
std::optional<T> gguf_cast(const GgufValue& value);
template <>
std::optional<bool> gguf_cast(const GgufValue& value);
template <>
std::optional<int64_t> gguf_cast(const GgufValue& value);
template <>
std::optional<double> gguf_cast(const GgufValue& value);
template <>
std::optional<std::string_view> gguf_cast(const GgufValue& value);
template <>
std::optional<std::vector<int64_t>> gguf_cast(const GgufValue& value);
template <>
std::optional<std::vector<double>> gguf_cast(const GgufValue& value);
template <>
std::optional<std::vector<std::string_view>> gguf_cast(const GgufValue& value);

}  // namespace fwl
