#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "files/atomic_file.h"
#include "files/safetensors.h"
#include "files/self_checksum.h"
#include "support/error.h"
#include "support/printable.h"
#include "support/sha256.h"

namespace fwl {
namespace {

constexpr size_t header_alignment = 8;

std::string quoted(const std::string& path, const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    fail(path, "names and metadata in UTF-8", "'" + printable(text) + "'");
  }
}

void check(const std::string& path, const std::vector<TensorView>& tensors) {
  std::vector<std::string_view> names;
  for (const auto& [name, dtype, shape, bytes] : tensors) {
    auto size = static_cast<int64_t>(bytes_of(dtype));
    for (const auto each : shape)
      if (each < 0 || __builtin_mul_overflow(size, each, &size)) size = -1;
    if (size < 0 || static_cast<uint64_t>(size) != bytes.size())
      fail(fmt::format("{}: tensor {}", path, printable(name)),
           fmt::format("the bytes of {} [{}]", to_string(dtype), fmt::join(shape, ", ")),
           fmt::format("{} bytes", bytes.size()));
    names.push_back(name);
  }
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) fail(path, "tensor names that differ", fmt::format("'{}' twice", printable(*twice)));
  if (std::ranges::binary_search(names, "__metadata__"))
    fail(path, "tensor names", "'__metadata__'", "safetensors keeps that name for itself");
}

std::string header_of(const std::string& path, const std::vector<TensorView>& tensors, const TextMap& metadata) {
  std::vector<std::string> entries;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, text] : metadata) pairs.push_back(quoted(path, key) + ":" + quoted(path, text));
    entries.push_back(fmt::format("\"__metadata__\":{{{}}}", fmt::join(pairs, ",")));
  }
  uint64_t position = 0;
  for (const auto& tensor : tensors) {
    const auto end = position + tensor.bytes.size();
    entries.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  quoted(path, tensor.name), to_string(tensor.dtype), fmt::join(tensor.shape, ","),
                                  position, end));
    position = end;
  }
  auto header = fmt::format("{{{}}}", fmt::join(entries, ","));
  header.resize((header.size() + header_alignment - 1) / header_alignment * header_alignment, ' ');
  return header;
}

struct Layout {
  std::vector<TensorView> tensors;  // widest elements first, then by name
  std::string header;               // with its length before it
};

Layout layout_of(const std::string& path, std::vector<TensorView> tensors, const TextMap& metadata) {
  check(path, tensors);
  std::ranges::sort(tensors, {},
                    [](const TensorView& each) { return std::pair(each.dtype, std::string_view(each.name)); });
  const auto header = header_of(path, tensors, metadata);
  const uint64_t length = header.size();
  return {std::move(tensors), std::string(reinterpret_cast<const char*>(&length), sizeof length) + header};
}

void write(const std::string& path, const Layout& layout) {
  AtomicFile file(path);
  file.write(layout.header);
  for (const auto& tensor : layout.tensors) file.write(tensor.bytes.data(), tensor.bytes.size());
  file.commit();
}

}  // namespace

void write_safetensors(const std::string& path, std::vector<TensorView> tensors, const TextMap& metadata) {
  write(path, layout_of(path, std::move(tensors), metadata));
}

void write_checked_safetensors(const std::string& path, std::vector<TensorView> tensors, TextMap metadata) {
  metadata[checksum_key] = blank_checksum;
  auto layout = layout_of(path, std::move(tensors), metadata);
  Sha256 hash;
  hash.update(layout.header);
  for (const auto& tensor : layout.tensors) hash.update(tensor.bytes.data(), tensor.bytes.size());
  layout.header.replace(layout.header.find(blank_checksum), blank_checksum.size(), to_hex(hash.finish()));
  write(path, layout);
}

}  // namespace fwl
