#include "tokenizer/byte_tokenizer.h"

#include <gtest/gtest.h>

#include "support/error.h"

namespace fwl {
namespace {

TEST(ByteTokenizer, EveryByteIsItsOwnIdAndComesBack) {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
  const auto tokenizer = open_tokenizer("bytes");
  const auto ids = tokenizer->encode(every_byte);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(ids[static_cast<size_t>(i)], i);
  EXPECT_EQ(tokenizer->decode(ids), every_byte);
  EXPECT_EQ(tokenizer->vocabulary_size(), 256);
}

TEST(ByteTokenizer, RefusesIdsThatAreNoBytes) {
  EXPECT_THROW(ByteTokenizer().decode(std::vector<TokenId>{256}), UserError);
  EXPECT_THROW(ByteTokenizer().decode(std::vector<TokenId>{-1}), UserError);
}

TEST(OpenTokenizer, SaysWhatItAcceptsWhenThereIsNothing) {
  EXPECT_THROW(open_tokenizer("/nowhere/at/all"), UserError);
}

}  // namespace
}  // namespace fwl
