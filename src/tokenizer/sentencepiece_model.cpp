#include "tokenizer/sentencepiece_model.h"

#include <cstring>
#include <string_view>

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

std::string to_bytes(const SentencePieceModel& model) {
  Message file;
  for (const auto& piece : model.pieces) {
    Message entry;
    entry.text(1, piece.text).real(2, piece.score).number(3, static_cast<uint64_t>(piece.type));
    file.text(1, entry.bytes());
  }
  constexpr int bpe = 2;
  Message trainer;
  trainer.number(3, bpe).number(35, model.falls_back_to_bytes).text(46, model.begin).text(47, model.end);
  for (const auto& piece : model.pieces)
    if (piece.type == 2) trainer.text(45, piece.text);
  Message normalizer;
  normalizer.text(1, "identity")
      .text(2, model.normalization_table)
      .number(3, model.adds_space)
      .number(4, 0)
      .number(5, 1);
  return file.text(2, trainer.bytes()).text(3, normalizer.bytes()).bytes();
}

}  // namespace fwl
