#include "files/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "files/byte_reader.h"
#include "support/error.h"
#include "support/printable.h"

namespace fwl {
namespace {

constexpr std::string_view magic = "GGUF";
constexpr uint32_t most_dimensions = 4;
constexpr int64_t default_alignment = 32;
constexpr int64_t largest_alignment = 1 << 20;
constexpr uint64_t smallest_entry = 8 + 4 + 1;       // a metadata entry: length of the key, kind, one byte of value
constexpr uint64_t smallest_tensor = 8 + 4 + 4 + 8;  // length of name, dimensions, type, offset
constexpr std::string_view damaged = "the file is cut short or damaged";

struct TensorPlace {
  GgufTensor tensor;
  uint64_t offset = 0;  // from the start of the data
  uint64_t size = 0;
};

std::string_view read_name(ByteReader& reader, std::string_view what) {
  const auto length = reader.read<uint64_t>(what);
  return reader.read_text(length, what);
}

// Reads the shape and sets the number of values; rejects shapes whose product overflows.
void read_shape(ByteReader& reader, GgufTensor& tensor, const std::string& where) {
  const auto dimensions = reader.read<uint32_t>("the number of dimensions");
  if (dimensions > most_dimensions)
    fail(where, fmt::format("at most {} dimensions", most_dimensions), std::to_string(dimensions), damaged);
  tensor.values = 1;
  for (uint32_t i = 0; i < dimensions; ++i) {
    const auto size = reader.read<int64_t>("a dimension");
    if (size < 0 || __builtin_mul_overflow(tensor.values, size, &tensor.values))
      fail(where, "a shape whose product fits 63 bits", fmt::format("dimension {}", static_cast<uint64_t>(size)),
           damaged);
    tensor.shape.insert(tensor.shape.begin(), size);
  }
}

TensorPlace read_tensor(ByteReader& reader, int64_t alignment) {
  TensorPlace place;
  auto& tensor = place.tensor;
  tensor.name = read_name(reader, "the name of a tensor");
  const auto where = fmt::format("{}: tensor {}", reader.where(), printable(tensor.name));
  read_shape(reader, tensor, where);
  const auto number = reader.read<uint32_t>("the type of a tensor");
  const auto* type = find_gguf_type(number);
  if (!type) fail(where, "a known tensor type", fmt::format("type {}", number), "a newer or a damaged file");
  tensor.type = type->type;
  const auto row = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (row % type->block_values != 0)
    fail(where, fmt::format("rows of whole {} blocks of {} values", type->name, type->block_values),
         fmt::format("rows of {}", row), damaged);
  if (__builtin_mul_overflow(static_cast<uint64_t>(tensor.values / type->block_values),
                             static_cast<uint64_t>(type->block_bytes), &place.size))
    fail(where, "a size that fits 64 bits", fmt::format("{} values of {}", tensor.values, type->name), damaged);
  place.offset = reader.read<uint64_t>("the offset of a tensor");
  if (place.offset % static_cast<uint64_t>(alignment) != 0)
    fail(where, fmt::format("an offset that is a multiple of {}", alignment), std::to_string(place.offset), damaged);
  return place;
}

void expect_no_overlap(const std::string& where, std::vector<GgufTensor> tensors) {
  std::ranges::sort(tensors, {}, [](const GgufTensor& tensor) { return tensor.bytes.data(); });
  const GgufTensor* last = nullptr;
  for (const auto& tensor : tensors) {
    if (tensor.bytes.empty()) continue;
    if (last && tensor.bytes.data() < last->bytes.data() + last->bytes.size())
      fail(where, "tensors that do not overlap",
           fmt::format("{} inside {}", printable(tensor.name), printable(last->name)), damaged);
    last = &tensor;
  }
}

template <class T>
constexpr std::string_view wanted;
template <>
constexpr std::string_view wanted<bool> = "a truth value";
template <>
constexpr std::string_view wanted<int64_t> = "a whole number";
template <>
constexpr std::string_view wanted<double> = "a number";
template <>
constexpr std::string_view wanted<std::string_view> = "a text";
template <>
constexpr std::string_view wanted<std::vector<int64_t>> = "an array of whole numbers";
template <>
constexpr std::string_view wanted<std::vector<double>> = "an array of numbers";
template <>
constexpr std::string_view wanted<std::vector<std::string_view>> = "an array of texts";

}  // namespace

bool looks_like_gguf(std::span<const std::byte> bytes) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

GgufFile::GgufFile(const std::string& path) : map_(path), where_(path) {
  read(map_->bytes());
}

GgufFile::GgufFile(std::string where, std::span<const std::byte> bytes) : where_(std::move(where)) {
  read(bytes);
}

void GgufFile::read(std::span<const std::byte> bytes) {
  if (!looks_like_gguf(bytes)) fail(where_, "a GGUF file", "something else", "the first four bytes are not GGUF");
  ByteReader reader(where_, bytes);
  reader.read_bytes(magic.size(), "the magic");
  version_ = reader.read<uint32_t>("the version");
  if (version_ != 2 && version_ != 3)
    fail(where_, "GGUF version 2 or 3", std::to_string(version_),
         version_ == 1 ? "convert the file anew" : "a newer or a big-endian file");
  const auto tensors = reader.read<uint64_t>("the number of tensors");
  const auto entries = reader.read<uint64_t>("the number of metadata entries");
  read_metadata(reader, entries);
  read_tensors(reader, tensors, bytes);
}

void GgufFile::read_metadata(ByteReader& reader, uint64_t count) {
  reader.expect_room(count, smallest_entry, "metadata entries");
  for (uint64_t i = 0; i < count; ++i) {
    const auto key = read_name(reader, "the key of a metadata entry");
    if (!metadata_index_.emplace(key, metadata_.size()).second)
      fail(where_, "metadata keys that differ", fmt::format("'{}' twice", printable(key)), damaged);
    const auto kind = read_gguf_kind(reader);
    metadata_.emplace_back(key, read_gguf_value(reader, kind));
  }
}

void GgufFile::read_tensors(ByteReader& reader, uint64_t count, std::span<const std::byte> bytes) {
  const auto alignment = get_or<int64_t>("general.alignment", default_alignment);
  if (alignment < 1 || alignment > largest_alignment || !std::has_single_bit(static_cast<uint64_t>(alignment)))
    fail(where_, "general.alignment to be a power of two", std::to_string(alignment), damaged);
  reader.expect_room(count, smallest_tensor, "tensor descriptions");
  std::vector<TensorPlace> places;
  for (uint64_t i = 0; i < count; ++i) places.push_back(read_tensor(reader, alignment));

  const auto step = static_cast<uint64_t>(alignment);
  const auto start = std::min<uint64_t>(bytes.size(), (reader.position() + step - 1) / step * step);
  const auto data = bytes.subspan(start);
  for (auto& [tensor, offset, size] : places) {
    if (offset > data.size() || size > data.size() - offset)
      fail(fmt::format("{}: tensor {}", where_, printable(tensor.name)),
           fmt::format("{} bytes at data offset {}", size, offset),
           fmt::format("a file with {} bytes of data", data.size()), damaged);
    tensor.bytes = data.subspan(offset, size);
    if (!tensor_index_.emplace(tensor.name, tensors_.size()).second)
      fail(where_, "tensor names that differ", fmt::format("'{}' twice", printable(tensor.name)), damaged);
    tensors_.push_back(std::move(tensor));
  }
  expect_no_overlap(where_, tensors_);
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto found = metadata_index_.find(key);
  return found == metadata_index_.end() ? nullptr : &metadata_[found->second].second;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

template <class T>
std::optional<T> GgufFile::get_optional(std::string_view key) const {
  const auto* value = find(key);
  if (!value) return std::nullopt;
  auto cast = gguf_cast<T>(*value);
  if (!cast) {
    const auto* array = std::get_if<GgufArray>(&value->data);
    const auto got =
        array ? fmt::format("an array of {}", to_string(array->kind)) : std::string(to_string(value->kind));
    fail(fmt::format("{}: {}", where_, key), wanted<T>, got);
  }
  return cast;
}

template <class T>
T GgufFile::get(std::string_view key) const {
  auto value = get_optional<T>(key);
  if (!value) fail(where_, fmt::format("metadata '{}'", key), "a file without it", "not a complete model file");
  return std::move(*value);
}

template std::optional<bool> GgufFile::get_optional(std::string_view) const;
template std::optional<int64_t> GgufFile::get_optional(std::string_view) const;
template std::optional<double> GgufFile::get_optional(std::string_view) const;
template std::optional<std::string_view> GgufFile::get_optional(std::string_view) const;
template std::optional<std::vector<int64_t>> GgufFile::get_optional(std::string_view) const;
template std::optional<std::vector<double>> GgufFile::get_optional(std::string_view) const;
template std::optional<std::vector<std::string_view>> GgufFile::get_optional(std::string_view) const;
template bool GgufFile::get(std::string_view) const;
template int64_t GgufFile::get(std::string_view) const;
template double GgufFile::get(std::string_view) const;
template std::string_view GgufFile::get(std::string_view) const;
template std::vector<int64_t> GgufFile::get(std::string_view) const;
template std::vector<double> GgufFile::get(std::string_view) const;
template std::vector<std::string_view> GgufFile::get(std::string_view) const;

}  // namespace fwl
