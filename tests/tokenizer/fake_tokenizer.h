// Tokenizers for tests of what stands on tokenizers.
#pragma once

#include "tokenizer/tokenizer.h"

namespace fwl {

// One id per byte, in a vocabulary of any size.
class FakeTokenizer : public Tokenizer {
 public:
  explicit FakeTokenizer(int64_t vocabulary_size = 256) : vocabulary_size_(vocabulary_size) {}
  std::string kind() const override { return "fake"; }
  int64_t vocabulary_size() const override { return vocabulary_size_; }
  void encode_marked(std::string_view text, Markup, std::vector<TokenId>& ids) const override {
    for (const char byte : text) ids.push_back(static_cast<uint8_t>(byte));
  }
  std::string decode(std::span<const TokenId> ids) const override { return {ids.begin(), ids.end()}; }
  std::optional<TokenId> end_token() const override { return TokenId{0}; }
  Digest hash() const override { return sha256("fake"); }

 private:
  int64_t vocabulary_size_;
};

// One id per line, its length: a cut inside a line shows.
class LineLengthTokenizer : public FakeTokenizer {
 public:
  LineLengthTokenizer() : FakeTokenizer(100000) {}
  void encode_marked(std::string_view text, Markup, std::vector<TokenId>& ids) const override {
    while (!text.empty()) {
      const auto length = std::min(text.find('\n'), text.size() - 1) + 1;
      ids.push_back(static_cast<TokenId>(length));
      text.remove_prefix(length);
    }
  }
  std::optional<TokenId> end_token() const override { return std::nullopt; }
};

}  // namespace fwl
