#include "tokenizer/sentencepiece_model.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <unordered_set>

namespace fwl {
namespace {

// Fields of a protocol buffer message; field numbers as in sentencepiece_model.proto.
class Message {
 public:
  Message& number(int field, uint64_t value) {
    varint(static_cast<uint64_t>(field) << 3);
    return varint(value);
  }
  Message& real(int field, float value) {
    varint(static_cast<uint64_t>(field) << 3 | 5);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    bytes_.append(bytes, sizeof bytes);
    return *this;
  }
  Message& text(int field, std::string_view value) {
    varint(static_cast<uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Message& varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
    return *this;
  }
  std::string bytes_;
};

}  // namespace

void replace_unusable(SentencePieceModel& model) {
  constexpr int64_t normal = 1, unused = 5, byte = 6, every_byte = 256;
  std::unordered_set<std::string> seen;
  int64_t bytes = 0;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    auto& piece = model.pieces[id];
    const bool has_zero = piece.text.find('\0') != std::string::npos;  // its trie ends there
    if (piece.text.empty() || has_zero || !seen.insert(piece.text).second)
      piece = {fmt::format("[unused {}]", id), 0, unused};
    bytes += piece.type == byte ? 1 : 0;
  }
  model.falls_back_to_bytes = bytes == every_byte;
  for (auto& piece : model.pieces)
    if (piece.type == byte && !model.falls_back_to_bytes) piece.type = normal;
}

std::string to_bytes(const SentencePieceModel& model) {
  Message file;
  for (const auto& piece : model.pieces) {
    Message entry;
    entry.text(1, piece.text).real(2, piece.score).number(3, static_cast<uint64_t>(piece.type));
    file.text(1, entry.bytes());
  }
  constexpr uint64_t unigram = 1, bpe = 2;
  Message trainer;
  trainer.number(3, model.is_unigram ? unigram : bpe)
      .number(35, model.falls_back_to_bytes)
      .text(46, model.begin)
      .text(47, model.end);
  for (const auto& piece : model.pieces)
    if (piece.type == 2) trainer.text(45, piece.text);
  Message normalizer;
  normalizer.text(1, "identity")
      .text(2, model.normalization_table)
      .number(3, model.adds_space)
      .number(4, model.removes_extra_spaces)
      .number(5, 1);
  return file.text(2, trainer.bytes()).text(3, normalizer.bytes()).bytes();
}

}  // namespace fwl
