// Reads safetensors files, mapped into memory and checked before use, and writes them atomically.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "files/dtype.h"
#include "files/memory_map.h"

namespace fwl {

struct TensorView {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

using TextMap = std::map<std::string, std::string>;

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);
  // Bytes in memory, which must outlive this object; `where` names them in errors.
  SafetensorsFile(std::string where, std::span<const std::byte> bytes);

  const std::string& where() const { return where_; }
  const TextMap& metadata() const { return metadata_; }
  const std::vector<TensorView>& tensors() const { return tensors_; }  // in the order of their bytes
  const TensorView* find(std::string_view name) const;                 // null: absent

  // Files of this project hold their checksum; a missing or wrong one is a UserError that calls the file `content`.
  bool has_checksum() const;
  void expect_checksum(std::string_view content) const;

 private:
  void read(std::span<const std::byte> bytes);

  std::optional<MemoryMap> map_;
  std::string where_;
  std::string_view bytes_;
  TextMap metadata_;
  std::vector<TensorView> tensors_;
  std::unordered_map<std::string_view, size_t> index_;  // the names are those in tensors_
};

// The file does not depend on the order of `tensors`: widest elements first, then by name.
void write_safetensors(const std::string& path, std::vector<TensorView> tensors, const TextMap& metadata = {});

// The same with the file's checksum in its metadata.
void write_checked_safetensors(const std::string& path, std::vector<TensorView> tensors, TextMap metadata);

bool looks_like_safetensors(std::span<const std::byte> bytes);

}  // namespace fwl
