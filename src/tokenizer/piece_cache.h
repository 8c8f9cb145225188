// Caches the ids of recent pieces in a fixed amount of memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace fwl {

// Two-way set associative: a new piece replaces the older of two entries. An entry fills one cache line. Memory grows
// with use, up to 4 MB.
class PieceCache {
 public:
  static constexpr size_t max_piece_bytes = 31, max_ids = 7;

  struct Key {
    std::array<uint64_t, 4> words = {};  // the bytes of the piece, zeros, and the length in the last byte

    explicit Key(std::string_view piece) {
      auto* bytes = reinterpret_cast<char*>(words.data());
      std::memcpy(bytes, piece.data(), piece.size());
      bytes[max_piece_bytes] = static_cast<char>(piece.size());
    }
    bool operator==(const Key&) const = default;
  };

  struct alignas(64) Entry {
    std::array<uint64_t, 4> key = {};  // all zero if empty, because no piece has length 0
    uint32_t count = 0;
    std::array<TokenId, max_ids> ids = {};
  };

  static bool can_hold(std::string_view piece) { return piece.size() <= max_piece_bytes; }

  // The entry of a piece, or null.
  const Entry* find(const Key& key) const {
    const auto* bucket = &entries_[bucket_of(key)];
    if (bucket[0].key == key.words) return &bucket[0];
    if (bucket[1].key == key.words) return &bucket[1];
    return nullptr;
  }

  void put(const Key& key, std::span<const TokenId> ids) {
    if (ids.size() > max_ids) return;
    if (++puts_ > entries_.size() && bucket_bits_ < max_bucket_bits) grow();
    auto* bucket = &entries_[bucket_of(key)];
    bucket[1] = bucket[0];
    bucket[0].key = key.words;
    bucket[0].count = static_cast<uint32_t>(ids.size());
    std::copy(ids.begin(), ids.end(), bucket[0].ids.begin());
  }

 private:
  static constexpr int max_bucket_bits = 15;

  void grow() {
    bucket_bits_ += 3;
    puts_ = 0;
    entries_.assign(size_t{2} << bucket_bits_, {});
  }

  size_t bucket_of(const Key& key) const {
    constexpr uint64_t odd[4] = {0x9E3779B97F4A7C15U, 0xC2B2AE3D27D4EB4FU, 0xD6E8FEB86659FD93U, 0xA0761D6478BD642FU};
    uint64_t hash = 0;
    for (size_t i = 0; i < 4; ++i) hash = (hash ^ key.words[i]) * odd[i] ^ hash >> 29;
    hash ^= hash >> 32;
    return static_cast<size_t>((hash * odd[0]) >> (64 - bucket_bits_)) * 2;
  }

  int bucket_bits_ = 6;
  size_t puts_ = 0;
  std::vector<Entry> entries_ = std::vector<Entry>(size_t{2} << bucket_bits_);
};

}  // namespace fwl
