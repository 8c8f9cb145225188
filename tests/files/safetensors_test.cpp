#include "files/safetensors.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "files/safetensors_samples.h"
#include "support/message_of.h"

namespace fwl {
namespace {

SafetensorsFile open(const std::string& bytes) {
  return {"m.safetensors", std::as_bytes(std::span(bytes))};
}

std::string error_of(std::string_view header, size_t data_bytes = 8) {
  return message_of([&] { open(make_safetensors(header, std::string(data_bytes, 'x'))); });
}

std::string_view text_of(const TensorView& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

TEST(Safetensors, TensorsAndMetadataReadBack) {
  const auto bytes = sample_safetensors();
  const auto file = open(bytes);
  EXPECT_EQ(file.metadata(), (TextMap{{"format", "pt"}, {"note", "é"}}));
  ASSERT_EQ(file.tensors().size(), 4U);
  const auto* weight = file.find("w");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->dtype, Dtype::F32);
  EXPECT_EQ(weight->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(text_of(*weight), "0123456789abcdefghijklmn");
  EXPECT_EQ(text_of(*file.find("b")), "opqrst");
  EXPECT_EQ(text_of(*file.find("none")), "");
  EXPECT_EQ(text_of(*file.find("s")), "u");
  EXPECT_EQ(file.find("no such"), nullptr);
}

TEST(Safetensors, WhatIsWrittenReadsBackAndDoesNotDependOnTheOrder) {
  const std::string data = "0123456789abcdef";
  const auto bytes = std::as_bytes(std::span(data));
  const TensorView narrow{"a", Dtype::U8, {3}, bytes.subspan(0, 3)}, wide{"z", Dtype::F64, {}, bytes.subspan(8, 8)},
      empty{"e", Dtype::F32, {0}, {}};
  const auto first = testing::TempDir() + "first.safetensors", second = testing::TempDir() + "second.safetensors";
  write_safetensors(first, {narrow, wide, empty}, {{"format", "pt"}, {"a\"b", "c\n"}});
  write_safetensors(second, {empty, wide, narrow}, {{"a\"b", "c\n"}, {"format", "pt"}});
  EXPECT_EQ(MemoryMap(first).text(), MemoryMap(second).text());
  const SafetensorsFile file(first);
  EXPECT_EQ(file.metadata().at("a\"b"), "c\n");
  EXPECT_EQ(file.tensors().front().name, "z");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file.find("z")->bytes.data()) % 8, 0U);
  EXPECT_EQ(text_of(*file.find("z")), "89abcdef");
  EXPECT_EQ(text_of(*file.find("a")), "012");
  EXPECT_EQ(file.find("e")->shape, (std::vector<int64_t>{0}));
}

TEST(Safetensors, WritingWhatCannotBeReadIsAnErrorAndLeavesNoFile) {
  const auto path = testing::TempDir() + "never.safetensors";
  const std::string data = "01234567";
  const auto bytes = std::as_bytes(std::span(data));
  const auto error = [&](std::vector<TensorView> tensors) {
    return message_of([&] { write_safetensors(path, std::move(tensors)); });
  };
  EXPECT_EQ(error({{"w", Dtype::F32, {3}, bytes}}), path + ": tensor w: expected the bytes of F32 [3], got 8 bytes");
  EXPECT_NE(error({{"w", Dtype::F32, {-2}, bytes}}).find("tensor w"), std::string::npos);
  EXPECT_NE(error({{"w", Dtype::F32, {2}, bytes}, {"w", Dtype::U8, {8}, bytes}}).find("'w' twice"), std::string::npos);
  EXPECT_NE(error({{"__metadata__", Dtype::F32, {2}, bytes}}).find("for itself"), std::string::npos);
  EXPECT_NE(error({{"\xff", Dtype::F32, {2}, bytes}}).find("UTF-8"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Safetensors, ABrokenLengthIsAClearError) {
  EXPECT_EQ(message_of([] { open("abc"); }),
            "m.safetensors: expected 8 bytes for the length of the header at offset 0, got 3 bytes; the file is cut "
            "short or damaged");
  EXPECT_EQ(message_of([] { open("\xff\xff\xff\xff\xff\xff\xff\x7f{}"); }),
            "m.safetensors: expected a header of at most 100000000 bytes, got 9223372036854775807; not a safetensors "
            "file, or damaged");
  EXPECT_EQ(
      message_of([] { open(std::string("\x09\0\0\0\0\0\0\0{}", 10)); }),
      "m.safetensors: expected 9 bytes for the header at offset 8, got 2 bytes; the file is cut short or damaged");
}

TEST(Safetensors, ABrokenHeaderIsAClearError) {
  EXPECT_EQ(error_of("{", 0), "m.safetensors: expected a JSON header, got an error at its byte 2; the file is damaged");
  EXPECT_EQ(error_of("{}x", 0),
            "m.safetensors: expected a JSON header, got an error at its byte 3; the file is damaged");
  EXPECT_EQ(error_of("[]", 0), "m.safetensors: expected a JSON object, got an array; the file is damaged");
  EXPECT_EQ(error_of("{}  ", 0), "no error");
  EXPECT_EQ(error_of(R"({"w":3})"), "m.safetensors: w: expected an object per tensor, got 3; the file is damaged");
  EXPECT_EQ(error_of(R"({"__metadata__":{"a":1}})"),
            "m.safetensors: a: expected texts only, got 1; the file is damaged");
  EXPECT_EQ(error_of(R"({"__metadata__":{"a":"1","a":"2"}})"),
            "m.safetensors: a: expected texts only, got the same key twice; the file is damaged");
  EXPECT_EQ(
      error_of(R"({"w":{"dtype":"F32"}})"),
      "m.safetensors: tensor w: expected dtype, shape and data_offsets, got not all of them; the file is damaged");
  EXPECT_EQ(error_of(R"({"w":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})"),
            "m.safetensors: tensor w: expected a known dtype, got 'F33'; a newer or a damaged file");
  EXPECT_EQ(error_of(R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})"),
            "m.safetensors: tensor w: expected a shape of whole numbers, got -2; the file is damaged");
  EXPECT_EQ(error_of(R"({"w":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})"),
            "m.safetensors: tensor w: expected a shape of whole numbers, got 2.5; the file is damaged");
  EXPECT_EQ(error_of(R"({"w":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})"),
            "m.safetensors: tensor w: expected a shape of whole numbers, got an array; the file is damaged");
  EXPECT_EQ(error_of(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0]}})"),
            "m.safetensors: tensor w: expected two data_offsets, got fewer than two data_offsets; the file is damaged");
  EXPECT_EQ(error_of(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}})"),
            "m.safetensors: tensor w: expected two data_offsets, got 9; the file is damaged");
  EXPECT_EQ(
      error_of(R"({"w":{"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]}})"),
      "m.safetensors: tensor w: expected dtype, shape and data_offsets, got a second 'shape'; the file is damaged");
}

TEST(Safetensors, OffsetsMustTileTheData) {
  const auto one = [](std::string_view begin_end, std::string_view shape) {
    return R"({"w":{"dtype":"F32","shape":[)" + std::string(shape) + R"(],"data_offsets":[)" + std::string(begin_end) +
           "]}}";
  };
  EXPECT_EQ(error_of(one("0,8", "2")), "no error");
  EXPECT_EQ(error_of(one("0,8", "3")),
            "m.safetensors: tensor w: expected 12 bytes for F32 [3], got data_offsets 0 to 8; the file is cut short or "
            "damaged");
  EXPECT_NE(error_of(one("8,0", "2")).find("8 to 0"), std::string::npos);
  EXPECT_NE(error_of(one("0,8", "4294967296,4294967296,4294967296")).find("far too many bytes"), std::string::npos);
  EXPECT_NE(error_of(one("4,12", "2"), 12).find("from offset 0, where the last tensor ends, got 4"), std::string::npos);
  EXPECT_NE(error_of(one("0,8", "2"), 7).find("a file with 7 bytes of data"), std::string::npos);
  EXPECT_NE(error_of(one("0,8", "2"), 9).find("expected 8 bytes of data, got 9"), std::string::npos);
  const std::string overlap = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                              R"("b":{"dtype":"U8","shape":[5],"data_offsets":[3,8]}})";
  EXPECT_NE(error_of(overlap).find("tensor b: expected data from offset 4"), std::string::npos);
  const std::string twice = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                            R"("a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})";
  EXPECT_NE(error_of(twice).find("'a' twice"), std::string::npos);
}

}  // namespace
}  // namespace fwl
