#include "fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string_view>

namespace fwl {
namespace {

constexpr size_t largest_input = 1 << 16;

// splitmix64: tiny, and the same everywhere, unlike the distributions of <random>.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t limit) { return limit ? next() % limit : 0; }
  template <class List>
  const auto& pick(const List& list) {
    return list[below(std::size(list))];
  }
  // Mostly short, sometimes up to `limit`.
  uint64_t length(uint64_t limit) { return below(below(4) ? std::min<uint64_t>(limit, 16) : limit) + 1; }

 private:
  uint64_t state_;
};

constexpr std::array<uint64_t, 24> interesting = {0,
                                                  1,
                                                  2,
                                                  3,
                                                  4,
                                                  7,
                                                  8,
                                                  16,
                                                  31,
                                                  32,
                                                  64,
                                                  100,
                                                  127,
                                                  128,
                                                  255,
                                                  256,
                                                  65535,
                                                  65536,
                                                  0x7FFFFFFF,
                                                  0x80000000U,
                                                  0xFFFFFFFFU,
                                                  0x7FFFFFFFFFFFFFFFU,
                                                  0x8000000000000000U,
                                                  0xFFFFFFFFFFFFFFFFU};

constexpr std::array<std::string_view, 20> interesting_texts = {"0",
                                                                "-1",
                                                                "1",
                                                                "4294967296",
                                                                "9223372036854775807",
                                                                "9223372036854775808",
                                                                "18446744073709551615",
                                                                "18446744073709551616",
                                                                "1e999",
                                                                "-0",
                                                                "0.5",
                                                                "null",
                                                                "true",
                                                                "\"\"",
                                                                "[]",
                                                                "{}",
                                                                "[",
                                                                "{",
                                                                "\"",
                                                                "\\ud800"};

size_t offset_in(const std::string& bytes, Random& random) {
  return random.below(bytes.size());
}

// A number near `old`, near the file's size, or from the list of values that break arithmetic.
uint64_t other_number(uint64_t old, size_t file_size, Random& random) {
  switch (random.below(6)) {
    case 0:
      return old + 1 + random.below(16);
    case 1:
      return old - 1 - random.below(16);
    case 2:
      return file_size - random.below(std::max<size_t>(file_size, 1));
    case 3:
      return old << (1 + random.below(40));
    case 4:
      return std::numeric_limits<uint64_t>::max() / (1 + random.below(300));
    default:
      return random.pick(interesting);
  }
}

void flip_bit(std::string& bytes, Random& random) {
  bytes[offset_in(bytes, random)] ^= static_cast<char>(1 << random.below(8));
}

void overwrite_byte(std::string& bytes, Random& random) {
  bytes[offset_in(bytes, random)] = static_cast<char>(random.next());
}

// Overwrites a little-endian number of 1, 2, 4 or 8 bytes: counts, lengths, offsets and types are such numbers.
void overwrite_number(std::string& bytes, Random& random) {
  const size_t width = size_t{1} << random.below(4);
  if (bytes.size() < width) return;
  const auto offset = random.below(bytes.size() - width + 1);
  uint64_t number = 0;
  std::memcpy(&number, &bytes[offset], width);
  number = other_number(number, bytes.size(), random);
  std::memcpy(&bytes[offset], &number, width);
}

void overwrite_digits(std::string& bytes, Random& random) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto start =
      std::find_if(bytes.begin() + static_cast<std::ptrdiff_t>(offset_in(bytes, random)), bytes.end(), is_digit);
  if (start == bytes.end()) return;
  const auto end = std::find_if_not(start, bytes.end(), is_digit);
  uint64_t number = 0;
  for (auto each = start; each != end; ++each) number = number * 10 + static_cast<uint64_t>(*each - '0');
  const auto text = random.below(2) ? std::to_string(other_number(number, bytes.size(), random))
                                    : std::string(random.pick(interesting_texts));
  bytes.replace(start, end, text);
}

void insert_text(std::string& bytes, Random& random) {
  bytes.insert(offset_in(bytes, random), random.pick(interesting_texts));
}

void insert_bytes(std::string& bytes, Random& random) {
  bytes.insert(offset_in(bytes, random), random.length(64), static_cast<char>(random.next()));
}

void remove_chunk(std::string& bytes, Random& random) {
  bytes.erase(offset_in(bytes, random), random.length(bytes.size()));
}

void truncate(std::string& bytes, Random& random) {
  bytes.resize(offset_in(bytes, random));
}

void repeat_chunk(std::string& bytes, Random& random) {
  const auto chunk = bytes.substr(offset_in(bytes, random), random.length(bytes.size()));
  const auto at = offset_in(bytes, random);
  const auto times = random.below(16) ? 1 : random.below(64);
  for (uint64_t i = 0; i < times && bytes.size() < largest_input; ++i) bytes.insert(at, chunk);
}

void overwrite_chunk(std::string& bytes, std::string_view source, Random& random) {
  if (source.empty()) return;
  const auto chunk = source.substr(random.below(source.size()), random.length(source.size()));
  bytes.replace(offset_in(bytes, random), random.below(2) ? chunk.size() : 0, chunk);
}

void change_once(std::string& bytes, const std::vector<std::string>& seeds, Random& random) {
  switch (random.below(13)) {
    case 0:
    case 1:
      return flip_bit(bytes, random);
    case 2:
      return overwrite_byte(bytes, random);
    case 3:
    case 4:
    case 5:
      return overwrite_number(bytes, random);
    case 6:
    case 7:
      return overwrite_digits(bytes, random);
    case 8:
      return random.below(2) ? insert_text(bytes, random) : insert_bytes(bytes, random);
    case 9:
      return remove_chunk(bytes, random);
    case 10:
      return random.below(4) ? overwrite_byte(bytes, random) : truncate(bytes, random);
    case 11:
      return repeat_chunk(bytes, random);
    default:
      return overwrite_chunk(bytes, random.below(2) ? std::string(bytes) : random.pick(seeds), random);
  }
}

}  // namespace

std::string mutate(const std::vector<std::string>& seeds, uint64_t random_seed) {
  Random random(random_seed);
  auto bytes = random.pick(seeds);
  const auto changes = 1 + random.below(random.below(2) ? 2 : 8);
  for (uint64_t i = 0; i < changes && !bytes.empty(); ++i) change_once(bytes, seeds, random);
  bytes.resize(std::min(bytes.size(), largest_input));
  return bytes;
}

}  // namespace fwl
