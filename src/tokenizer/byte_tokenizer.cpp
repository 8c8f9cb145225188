#include "tokenizer/byte_tokenizer.h"

#include <fmt/format.h>

#include "support/error.h"

namespace fwl {

void ByteTokenizer::encode_marked(std::string_view text, Markup, std::vector<TokenId>& ids) const {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  ids.insert(ids.end(), bytes, bytes + text.size());
}

std::string ByteTokenizer::decode(std::span<const TokenId> ids) const {
  std::string text;
  text.reserve(ids.size());
  for (const auto id : ids) {
    if (id < 0 || id > 255) fail("byte vocabulary: decode", "an id from 0 to 255", fmt::format("{}", id));
    text += static_cast<char>(id);
  }
  return text;
}

Digest ByteTokenizer::hash() const {
  return sha256("fwl bytes");
}

}  // namespace fwl
