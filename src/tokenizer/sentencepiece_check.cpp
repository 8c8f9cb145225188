#include "tokenizer/sentencepiece_check.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "support/error.h"

namespace fwl {
namespace {

constexpr int normalizer_field = 3, denormalizer_field = 5, table_field = 2;  // of sentencepiece_model.proto
constexpr size_t max_table_bytes = 16 << 20;

[[noreturn]] void reject(const std::string& where, const char* got) {
  fail(where, "a SentencePiece model", got, "the file is damaged");
}

uint64_t read_varint(const std::string& where, std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
  reject(where, "an invalid number");
}

// Calls visit(field, bytes) for the length-delimited fields of a message.
template <class Visit>
void for_each_field(const std::string& where, std::string_view message, Visit visit) {
  while (!message.empty()) {
    const auto tag = read_varint(where, message);
    const auto kind = tag & 7;
    size_t length = kind == 1 ? 8 : kind == 5 ? 4 : 0;
    if (kind == 0) read_varint(where, message);
    if (kind == 2) length = read_varint(where, message);
    if (kind == 3 || kind == 4 || kind > 5) reject(where, "a field of unknown type");
    if (length > message.size()) reject(where, "a field that extends past the end");
    if (kind == 2) visit(static_cast<int64_t>(tag >> 3), message.substr(0, length));
    message.remove_prefix(length);
  }
}

// A unit of the double-array trie: a label, the offset of its children, and whether one of them is a value.
struct Unit {
  uint32_t bits;

  uint32_t label() const { return bits & (1U << 31 | 0xFFU); }
  uint32_t offset() const { return (bits >> 10) << ((bits & 1U << 9) >> 6); }
  bool has_value() const { return bits >> 8 & 1; }
  uint32_t value() const { return bits & ~(1U << 31); }
};

// Follows every path through the trie: each child and each value must be in bounds.
bool stays_inside(const std::vector<Unit>& units, size_t texts_bytes) {
  std::vector<bool> is_known(units.size());
  std::vector<uint32_t> to_visit;
  const auto reach = [&](uint32_t base) {
    if ((base | 0xFFU) >= units.size()) return false;
    if (!is_known[base]) to_visit.push_back(base);
    is_known[base] = true;
    return true;
  };
  if (units.empty() || !reach(units[0].offset())) return false;
  while (!to_visit.empty()) {
    const auto base = to_visit.back();
    to_visit.pop_back();
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const auto unit = units[base ^ byte];
      if (unit.label() != byte) continue;
      const auto next = base ^ byte ^ unit.offset();
      if (!reach(next) || (unit.has_value() && units[next].value() >= texts_bytes)) return false;
    }
  }
  return true;
}

// The table holds the size of the trie, the trie, and null-terminated strings.
void check_table(const std::string& where, std::string_view table) {
  if (table.empty()) return;
  if (table.size() > max_table_bytes) reject(where, "a huge normalizer table");
  uint32_t trie_bytes = 0;
  if (table.size() > sizeof trie_bytes) std::memcpy(&trie_bytes, table.data(), sizeof trie_bytes);
  const bool fits = trie_bytes > 0 && trie_bytes % sizeof(Unit) == 0 && trie_bytes < table.size() - sizeof trie_bytes;
  if (!fits || table.back() != '\0') reject(where, "an invalid normalizer table");
  std::vector<Unit> units(trie_bytes / sizeof(Unit));
  std::memcpy(units.data(), table.data() + sizeof trie_bytes, trie_bytes);
  if (!stays_inside(units, table.size() - sizeof trie_bytes - trie_bytes))
    reject(where, "a normalizer table with offsets outside it");
}

}  // namespace

void check_sentencepiece_model(const std::string& where, std::string_view model) {
  for_each_field(where, model, [&](int64_t field, std::string_view content) {
    if (field != normalizer_field && field != denormalizer_field) return;
    for_each_field(where, content, [&](int64_t inner, std::string_view table) {
      if (inner == table_field) check_table(where, table);
    });
  });
}

}  // namespace fwl
