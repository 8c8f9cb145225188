// Small GGUF files made in memory, for tests and as a start for fuzzing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/gguf_type.h"
#include "files/gguf_value.h"

namespace fwl {

// Writes the pieces of a GGUF file in the order they are asked for; nothing is checked, so broken files are as easy.
class GgufMaker {
 public:
  template <class T>
  GgufMaker& number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  GgufMaker& text(std::string_view value) {
    number<uint64_t>(value.size());
    bytes_ += value;
    return *this;
  }
  GgufMaker& header(uint64_t tensors, uint64_t entries, uint32_t version = 3) {
    bytes_ += "GGUF";
    return number(version).number(tensors).number(entries);
  }
  GgufMaker& key(std::string_view name, GgufKind kind) { return text(name).number(kind); }
  GgufMaker& array(GgufKind kind, uint64_t count) { return number(kind).number(count); }
  GgufMaker& tensor(std::string_view name, const std::vector<uint64_t>& dimensions, GgufType type, uint64_t offset) {
    text(name).number(static_cast<uint32_t>(dimensions.size()));
    for (const auto size : dimensions) number(size);
    return number(type).number(offset);
  }
  GgufMaker& data(uint64_t count, size_t alignment = 32) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    for (uint64_t i = 0; i < count; ++i) bytes_ += static_cast<char>(i * 37 + 5);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Every kind of metadata value, nested arrays, and tensors of several types.
inline std::string sample_gguf(uint32_t version) {
  GgufMaker maker;
  maker.header(4, 16, version);
  maker.key("general.architecture", GgufKind::text).text("llama");
  maker.key("general.alignment", GgufKind::uint32).number<uint32_t>(32);
  maker.key("a.uint8", GgufKind::uint8).number<uint8_t>(200);
  maker.key("a.int8", GgufKind::int8).number<int8_t>(-100);
  maker.key("a.uint16", GgufKind::uint16).number<uint16_t>(60000);
  maker.key("a.int16", GgufKind::int16).number<int16_t>(-30000);
  maker.key("a.int32", GgufKind::int32).number<int32_t>(-2000000000);
  maker.key("a.float32", GgufKind::float32).number(0.1F);
  maker.key("a.boolean", GgufKind::boolean).number<uint8_t>(1);
  maker.key("a.uint64", GgufKind::uint64).number<uint64_t>(0xFFFFFFFFFFFFFFFFU);
  maker.key("a.int64", GgufKind::int64).number<int64_t>(-5);
  maker.key("a.float64", GgufKind::float64).number(2.25);
  maker.key("tokenizer.ggml.tokens", GgufKind::array).array(GgufKind::text, 3).text("<s>").text("a").text("");
  maker.key("tokenizer.ggml.scores", GgufKind::array).array(GgufKind::float32, 2).number(0.5F).number(-1.F);
  maker.key("tokenizer.ggml.token_type", GgufKind::array).array(GgufKind::int32, 2).number(3).number(1);
  maker.key("nested", GgufKind::array).array(GgufKind::array, 2);
  maker.array(GgufKind::boolean, 2).number<uint8_t>(0).number<uint8_t>(1);
  maker.array(GgufKind::array, 1).array(GgufKind::uint16, 1).number<uint16_t>(7);
  maker.tensor("token_embd.weight", {32, 2}, GgufType::Q8_0, 0);
  maker.tensor("blk.0.attn_norm.weight", {8}, GgufType::F32, 96);
  maker.tensor("blk.0.ffn_up.weight", {256, 1}, GgufType::Q4_K, 128);
  maker.tensor("scalar", {}, GgufType::BF16, 288);
  return maker.data(290).bytes();
}

}  // namespace fwl
