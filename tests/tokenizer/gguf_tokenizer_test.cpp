#include "tokenizer/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include "files/gguf_samples.h"
#include "support/error.h"
#include "tokenizer/byte_alphabet.h"

namespace fwl {
namespace {

struct Vocabulary {
  std::string model = "gpt2", pre = "smollm";
  std::vector<std::string> tokens, merges = {"t h", "th e"};
  std::vector<int32_t> types;
  uint32_t end = 258;

  Vocabulary() {
    for (int byte = 0; byte < 256; ++byte) tokens.push_back(name_of_byte(static_cast<unsigned char>(byte)));
    tokens.insert(tokens.end(), {"th", "the", "<|im_end|>"});
    types.assign(tokens.size(), 1);
    types.back() = 3;
  }

  std::string bytes() const {
    GgufMaker maker;
    maker.header(0, 6);
    maker.key("tokenizer.ggml.model", GgufKind::text).text(model);
    maker.key("tokenizer.ggml.pre", GgufKind::text).text(pre);
    maker.key("tokenizer.ggml.tokens", GgufKind::array).array(GgufKind::text, tokens.size());
    for (const auto& token : tokens) maker.text(token);
    maker.key("tokenizer.ggml.merges", GgufKind::array).array(GgufKind::text, merges.size());
    for (const auto& merge : merges) maker.text(merge);
    maker.key("tokenizer.ggml.token_type", GgufKind::array).array(GgufKind::int32, types.size());
    for (const auto type : types) maker.number(type);
    maker.key("tokenizer.ggml.eos_token_id", GgufKind::uint32).number(end);
    return maker.bytes();
  }
};

std::unique_ptr<Tokenizer> open(const Vocabulary& vocabulary) {
  const auto bytes = vocabulary.bytes();
  return open_gguf_tokenizer(GgufFile("test.gguf", std::as_bytes(std::span(bytes))));
}

TEST(GgufTokenizer, ByteLevelBpeKnowsItsPatternAndControlTokens) {
  const auto tokenizer = open({});
  EXPECT_EQ(tokenizer->encode(MarkedText::all_markup("the12<|im_end|>")), (std::vector<TokenId>{257, '1', '2', 258}));
  EXPECT_EQ(tokenizer->end_token(), 258);
  EXPECT_EQ(tokenizer->begin_token(), std::nullopt);
  EXPECT_EQ(tokenizer->vocabulary_size(), 259);
}

// As Gemma's files have it: the unknown token is a control token, and named by its id.
std::string unmarked_unknown(bool has_id, const std::string& unknown) {
  const std::vector<std::string> tokens = {"<pad>", unknown, "\xE2\x96\x81", "a",
                                           "\xE2\x96\x81"
                                           "a"};
  GgufMaker maker;
  maker.header(0, has_id ? 5 : 4);
  maker.key("tokenizer.ggml.model", GgufKind::text).text("llama");
  maker.key("tokenizer.ggml.tokens", GgufKind::array).array(GgufKind::text, tokens.size());
  for (const auto& token : tokens) maker.text(token);
  maker.key("tokenizer.ggml.scores", GgufKind::array).array(GgufKind::float32, tokens.size());
  for (size_t index = 0; index < tokens.size(); ++index) maker.number(-static_cast<float>(index));
  maker.key("tokenizer.ggml.token_type", GgufKind::array).array(GgufKind::int32, tokens.size());
  for (const int32_t type : {3, 3, 1, 1, 1}) maker.number(type);
  if (has_id) maker.key("tokenizer.ggml.unknown_token_id", GgufKind::uint32).number(uint32_t{1});
  return maker.bytes();
}

TEST(GgufTokenizer, AnUnknownTokenIsFoundByItsIdOrName) {
  for (const auto& bytes : {unmarked_unknown(true, "<what>"), unmarked_unknown(false, "<unk>")}) {
    const auto tokenizer = open_gguf_tokenizer(GgufFile("test.gguf", std::as_bytes(std::span(bytes))));
    EXPECT_EQ(tokenizer->encode("a"), (std::vector<TokenId>{4}));
    EXPECT_EQ(tokenizer->encode("ab"), (std::vector<TokenId>{4, 1}));
  }
  const auto none = unmarked_unknown(false, "<what>");
  try {
    open_gguf_tokenizer(GgufFile("test.gguf", std::as_bytes(std::span(none))));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("expected an unknown token"), std::string::npos) << error.what();
  }
}

TEST(GgufTokenizer, ContradictionsAreClearErrors) {
  const auto error_after = [](auto change) -> std::string {
    Vocabulary vocabulary;
    change(vocabulary);
    try {
      open(vocabulary);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(error_after([](auto& v) { v.model = "bert"; }).find("got 'bert'"), std::string::npos);
  EXPECT_NE(error_after([](auto& v) { v.pre = "smolm"; }).find("did you mean smollm?"), std::string::npos);
  EXPECT_NE(error_after([](auto& v) { v.types.pop_back(); }).find("expected 259 values, got 258"), std::string::npos);
  EXPECT_NE(error_after([](auto& v) { v.end = 259; }).find("expected an id below 259"), std::string::npos);
  EXPECT_NE(error_after([](auto& v) { v.merges[0] = "th"; }).find("merge 1: expected two tokens"), std::string::npos);
  EXPECT_NE(error_after([](auto& v) { v.tokens[3] = "the"; }).find("every token once"), std::string::npos);
  EXPECT_NE(error_after([](auto& v) { v.model = "llama"; }).find("tokenizer.ggml.scores"), std::string::npos);
}

}  // namespace
}  // namespace fwl
