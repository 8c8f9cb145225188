// Reads GGUF files (versions 2 and 3): metadata and tensors, mapped into memory and checked before use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "files/gguf_type.h"
#include "files/gguf_value.h"
#include "files/memory_map.h"

namespace fwl {

struct GgufTensor {
  std::string_view name;
  GgufType type = GgufType::F32;
  std::vector<int64_t> shape;  // outermost first, as in torch; the file stores the reverse
  int64_t values = 0;          // product of the shape
  std::span<const std::byte> bytes;
};

class GgufFile {
 public:
  explicit GgufFile(const std::string& path);
  // Bytes in memory, which must outlive this object; `where` names them in errors.
  GgufFile(std::string where, std::span<const std::byte> bytes);

  const std::string& where() const { return where_; }
  uint32_t version() const { return version_; }

  const std::vector<std::pair<std::string_view, GgufValue>>& metadata() const { return metadata_; }  // in file order
  const GgufValue* find(std::string_view key) const;                                                 // null: absent

  // For the types of gguf_cast. If the key is missing, these throw, return nothing, or return `other`. A value of
  // another kind always throws.
  template <class T>
  T get(std::string_view key) const;
  template <class T>
  std::optional<T> get_optional(std::string_view key) const;
  template <class T>
  T get_or(std::string_view key, T other) const {
    return get_optional<T>(key).value_or(std::move(other));
  }

  const std::vector<GgufTensor>& tensors() const { return tensors_; }  // in file order
  const GgufTensor* find_tensor(std::string_view name) const;          // null: absent

 private:
  void read(std::span<const std::byte> bytes);
  void read_metadata(ByteReader& reader, uint64_t count);
  void read_tensors(ByteReader& reader, uint64_t count, std::span<const std::byte> bytes);

  std::optional<MemoryMap> map_;
  std::string where_;
  uint32_t version_ = 0;
  std::vector<std::pair<std::string_view, GgufValue>> metadata_;
  std::vector<GgufTensor> tensors_;
  std::unordered_map<std::string_view, size_t> metadata_index_;
  std::unordered_map<std::string_view, size_t> tensor_index_;
};

bool looks_like_gguf(std::span<const std::byte> bytes);

}  // namespace fwl
