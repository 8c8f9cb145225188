#include "files/gguf.h"

#include <gtest/gtest.h>

#include <functional>

#include "files/atomic_file.h"
#include "files/gguf_samples.h"
#include "support/message_of.h"

namespace fwl {
namespace {

GgufFile open(const std::string& bytes) {
  return {"m.gguf", std::as_bytes(std::span(bytes))};
}

// The error of a file with these tensors after one harmless metadata entry.
std::string error_of(uint64_t tensors, const std::function<void(GgufMaker&)>& fill) {
  GgufMaker maker;
  maker.header(tensors, 1).key("k", GgufKind::uint8).number<uint8_t>(1);
  fill(maker);
  return message_of([&] { open(maker.bytes()); });
}

// The error of a file with this one metadata entry.
std::string entry_error(const std::function<void(GgufMaker&)>& fill) {
  GgufMaker maker;
  maker.header(0, 1);
  fill(maker);
  return message_of([&] { open(maker.bytes()); });
}

TEST(Gguf, EveryKindOfMetadataReadsBackInBothVersions) {
  for (const uint32_t version : {2U, 3U}) {
    const auto bytes = sample_gguf(version);
    const auto file = open(bytes);
    EXPECT_EQ(file.version(), version);
    EXPECT_EQ(file.metadata().size(), 16U);
    EXPECT_EQ(file.get<std::string_view>("general.architecture"), "llama");
    EXPECT_EQ(file.get<int64_t>("a.uint8"), 200);
    EXPECT_EQ(file.get<int64_t>("a.int8"), -100);
    EXPECT_EQ(file.get<int64_t>("a.uint16"), 60000);
    EXPECT_EQ(file.get<int64_t>("a.int16"), -30000);
    EXPECT_EQ(file.get<int64_t>("a.int32"), -2000000000);
    EXPECT_EQ(file.get<int64_t>("a.int64"), -5);
    EXPECT_EQ(file.get<double>("a.float32"), 0.1F);
    EXPECT_EQ(file.get<double>("a.float64"), 2.25);
    EXPECT_EQ(file.get<double>("a.uint64"), 18446744073709551616.0);
    EXPECT_TRUE(file.get<bool>("a.boolean"));
    EXPECT_EQ(file.get<std::vector<double>>("tokenizer.ggml.scores"), (std::vector<double>{0.5, -1}));
    EXPECT_EQ(file.get<std::vector<int64_t>>("tokenizer.ggml.token_type"), (std::vector<int64_t>{3, 1}));
  }
}

TEST(Gguf, TextsAndNestedArraysAreViewsIntoTheFile) {
  const auto bytes = sample_gguf(3);
  const auto file = open(bytes);
  const auto tokens = file.get<std::vector<std::string_view>>("tokenizer.ggml.tokens");
  EXPECT_EQ(tokens, (std::vector<std::string_view>{"<s>", "a", ""}));
  EXPECT_GE(tokens[0].data(), bytes.data());
  EXPECT_LT(tokens[0].data(), bytes.data() + bytes.size());
  const auto& nested = std::get<GgufArray>(file.find("nested")->data);
  EXPECT_EQ(gguf_cast<bool>(element(nested.arrays[0], 1)), true);
  EXPECT_EQ(gguf_cast<int64_t>(element(nested.arrays[1].arrays[0], 0)), 7);
}

TEST(Gguf, TensorsHaveTheirShapeOutermostFirstAndTheirBytes) {
  const auto bytes = sample_gguf(3);
  const auto file = open(bytes);
  ASSERT_EQ(file.tensors().size(), 4U);
  const auto* embedding = file.find_tensor("token_embd.weight");
  ASSERT_NE(embedding, nullptr);
  EXPECT_EQ(embedding->shape, (std::vector<int64_t>{2, 32}));
  EXPECT_EQ(embedding->values, 64);
  EXPECT_EQ(embedding->bytes.size(), 68U);
  EXPECT_EQ(embedding->bytes.front(), std::byte{5});
  EXPECT_EQ(file.find_tensor("scalar")->values, 1);
  EXPECT_EQ(file.find_tensor("no such"), nullptr);
}

TEST(Gguf, AFileOnDiskReadsLikeBytesInMemoryAndMayBeMoved) {
  const auto path = testing::TempDir() + "sample.gguf";
  write_file_atomically(path, sample_gguf(3));
  GgufFile first(path);
  const GgufFile file(std::move(first));
  EXPECT_EQ(file.get<std::string_view>("general.architecture"), "llama");
  EXPECT_EQ(file.tensors().back().name, "scalar");
}

TEST(Gguf, MissingAndMistypedKeysAreClearErrors) {
  const auto bytes = sample_gguf(3);
  const auto file = open(bytes);
  EXPECT_EQ(message_of([&] { file.get<int64_t>("llama.block_count"); }),
            "m.gguf: expected metadata 'llama.block_count', got a file without it; not a complete model file");
  EXPECT_EQ(message_of([&] { file.get<int64_t>("general.architecture"); }),
            "m.gguf: general.architecture: expected a whole number, got text");
  EXPECT_EQ(message_of([&] { file.get<int64_t>("a.uint64"); }),
            "m.gguf: a.uint64: expected a whole number, got uint64");
  EXPECT_EQ(message_of([&] { file.get<std::vector<int64_t>>("tokenizer.ggml.tokens"); }),
            "m.gguf: tokenizer.ggml.tokens: expected an array of whole numbers, got an array of text");
  EXPECT_EQ(file.get_optional<int64_t>("llama.block_count"), std::nullopt);
  EXPECT_EQ(file.get_or<int64_t>("llama.block_count", 4), 4);
}

TEST(Gguf, BrokenHeadersAreClearErrors) {
  EXPECT_EQ(message_of([] { open("GGML...."); }),
            "m.gguf: expected a GGUF file, got something else; the first four bytes are not GGUF");
  EXPECT_EQ(message_of([] { open("GGUF\4"); }),
            "m.gguf: expected 4 bytes for the version at offset 4, got 1 bytes; the file is cut short or damaged");
  EXPECT_EQ(message_of([] { open(GgufMaker().header(0, 0, 9).bytes()); }),
            "m.gguf: expected GGUF version 2 or 3, got 9; a newer or a big-endian file");
  EXPECT_EQ(message_of([] { open(GgufMaker().header(0, ~0ULL).bytes()); }),
            "m.gguf: expected 18446744073709551615 x 13 bytes for metadata entries at offset 24, got 0 bytes; the file "
            "is cut short or damaged");
  EXPECT_EQ(message_of([] { open(GgufMaker().header(1ULL << 60, 0).bytes()); }),
            "m.gguf: expected 1152921504606846976 x 24 bytes for tensor descriptions at offset 24, got 0 bytes; the "
            "file is cut short or damaged");
}

TEST(Gguf, BrokenMetadataIsAClearError) {
  EXPECT_NE(entry_error([](GgufMaker& m) { m.key("k", static_cast<GgufKind>(13)).number(0); }).find("from 0 to 12"),
            std::string::npos);
  EXPECT_NE(entry_error([](GgufMaker& m) { m.key("k", GgufKind::boolean).number<uint8_t>(2); }).find("0 or 1, got 2"),
            std::string::npos);
  EXPECT_NE(entry_error([](GgufMaker& m) { m.key("k", GgufKind::text).number(~0ULL); }).find("for a text"),
            std::string::npos);
  EXPECT_NE(entry_error([](GgufMaker& m) {
              m.key("k", GgufKind::array).array(GgufKind::float64, 1ULL << 61);
            }).find("metadata values"),
            std::string::npos);
  EXPECT_NE(entry_error([](GgufMaker& m) {
              m.key("k", GgufKind::array).array(GgufKind::text, 1ULL << 61).text("a");
            }).find("an array of texts"),
            std::string::npos);
  EXPECT_NE(entry_error([](GgufMaker& m) {
              m.key("k", GgufKind::array);
              for (int i = 0; i < 20; ++i) m.array(GgufKind::array, 1);
            }).find("nested at most 8 deep"),
            std::string::npos);
}

TEST(Gguf, BrokenTensorsAreClearErrorsThatNameTheTensor) {
  const auto no_error = error_of(1, [](GgufMaker& m) { m.tensor("w", {32}, GgufType::Q4_0, 0).data(18); });
  EXPECT_EQ(no_error, "no error");
  EXPECT_EQ(error_of(1, [](GgufMaker& m) { m.tensor("w", {32}, GgufType::Q4_0, 0).data(17); }),
            "m.gguf: tensor w: expected 18 bytes at data offset 0, got a file with 17 bytes of data; the file is cut "
            "short or damaged");
  EXPECT_EQ(error_of(1, [](GgufMaker& m) { m.tensor("w", {31}, GgufType::Q4_0, 0).data(18); }),
            "m.gguf: tensor w: expected rows of whole Q4_0 blocks of 32 values, got rows of 31; the file is cut short "
            "or damaged");
  EXPECT_NE(
      error_of(1, [](GgufMaker& m) { m.tensor("w", {4}, static_cast<GgufType>(4), 0); }).find("known tensor type"),
      std::string::npos);
  EXPECT_NE(error_of(1,
                     [](GgufMaker& m) {
                       m.tensor("w", {1ULL << 32, 1ULL << 32}, GgufType::F32, 0);
                     })
                .find("63 bits"),
            std::string::npos);
  EXPECT_NE(error_of(1, [](GgufMaker& m) { m.tensor("w", {1ULL << 62}, GgufType::F64, 0); }).find("64 bits"),
            std::string::npos);
  EXPECT_NE(error_of(1,
                     [](GgufMaker& m) {
                       m.tensor("w", {1, 1, 1, 1, 1}, GgufType::F32, 0);
                     })
                .find("4 dimensions"),
            std::string::npos);
  EXPECT_NE(error_of(1, [](GgufMaker& m) { m.tensor("w", {1}, GgufType::F32, 4).data(8); }).find("multiple of 32"),
            std::string::npos);
  EXPECT_NE(error_of(1, [](GgufMaker& m) { m.tensor("w", {1}, GgufType::F32, ~31ULL).data(8); }).find("data offset"),
            std::string::npos);
  const auto twice = [](GgufMaker& m) {
    m.tensor("w", {1}, GgufType::F32, 0).tensor("w", {1}, GgufType::F32, 32).data(64);
  };
  EXPECT_NE(error_of(2, twice).find("'w' twice"), std::string::npos);
  const auto overlap = [](GgufMaker& m) {
    m.tensor("w", {16}, GgufType::F32, 0).tensor("v", {1}, GgufType::F32, 32).data(64);
  };
  EXPECT_NE(error_of(2, overlap).find("v inside w"), std::string::npos);
}

TEST(Gguf, AnAlignmentThatIsNoPowerOfTwoIsAnError) {
  EXPECT_NE(
      entry_error([](GgufMaker& m) { m.key("general.alignment", GgufKind::uint32).number(0U); }).find("power of two"),
      std::string::npos);
  EXPECT_NE(
      entry_error([](GgufMaker& m) { m.key("general.alignment", GgufKind::uint32).number(24U); }).find("power of two"),
      std::string::npos);
}

TEST(Gguf, NamesFromTheFileCannotBreakTheErrorLine) {
  const auto line = error_of(1, [](GgufMaker& m) { m.tensor("a\n\x1b[2J\xff", {1}, GgufType::F32, 4).data(8); });
  EXPECT_EQ(line.find("m.gguf: tensor a\\n\\x1b[2J\\xff: expected"), 0U);
}

}  // namespace
}  // namespace fwl
