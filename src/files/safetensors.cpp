#include "files/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "files/byte_reader.h"
#include "files/safetensors_header.h"
#include "files/self_checksum.h"
#include "support/error.h"
#include "support/printable.h"

namespace fwl {
namespace {

constexpr uint64_t largest_header = 100'000'000;  // as in the reference
constexpr std::string_view damaged = "the file is cut short or damaged";

std::string tensor_name(const std::string& where, const SafetensorsEntry& entry) {
  return fmt::format("{}: tensor {}", where, printable(entry.name));
}

void expect_size_of_shape(const std::string& where, const SafetensorsEntry& entry) {
  auto size = static_cast<int64_t>(bytes_of(entry.dtype));
  bool fits = true;
  for (const auto each : entry.shape) fits &= !__builtin_mul_overflow(size, each, &size);
  if (fits && entry.end >= entry.begin && entry.end - entry.begin == static_cast<uint64_t>(size)) return;
  fail(tensor_name(where, entry),
       fmt::format("{} bytes for {} [{}]", fits ? std::to_string(size) : "far too many", to_string(entry.dtype),
                   fmt::join(entry.shape, ", ")),
       fmt::format("data_offsets {} to {}", entry.begin, entry.end), damaged);
}

}  // namespace

bool looks_like_safetensors(std::span<const std::byte> bytes) {
  if (bytes.size() < 10 || bytes[8] != std::byte{'{'}) return false;
  return ByteReader("", bytes).read<uint64_t>("the length of the header") <= largest_header;
}

SafetensorsFile::SafetensorsFile(const std::string& path) : map_(path), where_(path) {
  read(map_->bytes());
}

SafetensorsFile::SafetensorsFile(std::string where, std::span<const std::byte> bytes) : where_(std::move(where)) {
  read(bytes);
}

void SafetensorsFile::read(std::span<const std::byte> bytes) {
  bytes_ = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  ByteReader reader(where_, bytes);
  const auto length = reader.read<uint64_t>("the length of the header");
  if (length > largest_header)
    fail(where_, fmt::format("a header of at most {} bytes", largest_header), std::to_string(length),
         "not a safetensors file, or damaged");
  const auto json = reader.read_text(length, "the header");
  auto header = parse_safetensors_header(where_, json);
  metadata_ = std::move(header.metadata);

  // Sorted by offset, each tensor must begin where the last one ended: no holes, no overlap, all in range.
  const auto data = bytes.subspan(reader.position());
  std::ranges::sort(header.tensors, {}, [](const SafetensorsEntry& each) { return std::pair(each.begin, each.end); });
  uint64_t position = 0;
  tensors_.reserve(header.tensors.size());
  for (auto& entry : header.tensors) {
    expect_size_of_shape(where_, entry);
    if (entry.begin != position)
      fail(tensor_name(where_, entry), fmt::format("data from offset {}, where the last tensor ends", position),
           std::to_string(entry.begin), damaged);
    if (entry.end > data.size())
      fail(tensor_name(where_, entry), fmt::format("data up to offset {}", entry.end),
           fmt::format("a file with {} bytes of data", data.size()), damaged);
    position = entry.end;
    tensors_.push_back({std::move(entry.name), entry.dtype, std::move(entry.shape),
                        data.subspan(entry.begin, entry.end - entry.begin)});
  }
  if (position != data.size())
    fail(where_, fmt::format("{} bytes of data", position), std::to_string(data.size()), "the file is damaged");
  for (size_t i = 0; i < tensors_.size(); ++i) index_.emplace(tensors_[i].name, i);
}

bool SafetensorsFile::has_checksum() const {
  return metadata_.contains(checksum_key);
}

void SafetensorsFile::expect_checksum(std::string_view content) const {
  const auto found = metadata_.find(checksum_key);
  expect_self_checksum(where_, content, bytes_, found == metadata_.end() ? std::string() : found->second);
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace fwl
