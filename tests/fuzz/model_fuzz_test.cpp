// Mutated models are loaded and run, not only parsed.
#include <gtest/gtest.h>

#include "engine/torch.h"
#include "files/gguf_samples.h"
#include "fuzz/fuzz_run.h"
#include "store/open_base.h"
#include "support/message_of.h"
#include "support/scratch.h"

namespace fwl {
namespace {

struct TinyLlama {
  uint32_t context = 64, head_size = 4, layers = 1;
  std::vector<uint64_t> embedding = {8, 16};

  std::string bytes() const {
    GgufMaker maker;
    maker.header(11, 9);
    maker.key("general.architecture", GgufKind::text).text("llama");
    const auto count = [&](const char* name, uint32_t value) {
      maker.key(std::string("llama.") + name, GgufKind::uint32).number(value);
    };
    count("context_length", context);
    count("embedding_length", 8);
    count("block_count", layers);
    count("feed_forward_length", 16);
    count("attention.head_count", 2);
    count("attention.head_count_kv", 1);
    count("attention.key_length", head_size);
    maker.key("llama.attention.layer_norm_rms_epsilon", GgufKind::float32).number(1e-5F);
    uint64_t offset = 0;
    const auto tensor = [&](const std::string& name, const std::vector<uint64_t>& shape) {
      maker.tensor(name, shape, GgufType::F32, offset);
      uint64_t values = 1;
      for (const auto size : shape) values *= size;
      offset += (4 * values + 31) / 32 * 32;
    };
    tensor("token_embd.weight", embedding);
    tensor("output_norm.weight", {8});
    tensor("blk.0.attn_norm.weight", {8});
    tensor("blk.0.attn_q.weight", {8, 8});
    tensor("blk.0.attn_k.weight", {8, 4});
    tensor("blk.0.attn_v.weight", {8, 4});
    tensor("blk.0.attn_output.weight", {8, 8});
    tensor("blk.0.ffn_norm.weight", {8});
    tensor("blk.0.ffn_gate.weight", {8, 16});
    tensor("blk.0.ffn_up.weight", {8, 16});
    tensor("blk.0.ffn_down.weight", {16, 8});
    auto file = maker.data(0).bytes();
    file.resize(file.size() + offset);  // zeros
    return file;
  }
};

void load_and_run(const std::string& path) {
  const at::NoGradGuard no_grad;
  const auto model = open_base(path, WeightFormat::quantized);
  auto state = model->new_state(1, model->default_context());
  (void)model->read(at::zeros({1, std::min<int64_t>(3, model->context_tokens())}, at::kLong), state);
}

std::string error_of(const TinyLlama& model) {
  const auto path = write_text(fresh_folder("tiny_llama") + "/m.gguf", model.bytes());
  const auto message = message_of([&] { load_and_run(path); });
  return message.starts_with(path) ? message.substr(path.size()) : message;
}

TEST(ModelFuzz, SizesThatTheTensorsDoNotHaveAreOneLineBeforeAnythingIsAllocated) {
  EXPECT_EQ(error_of({}), "no error");
  EXPECT_EQ(error_of({.embedding = {}}),
            ": tensor token_embd.weight: expected at least one number, got none; the file is damaged");
  EXPECT_EQ(error_of({.embedding = {8, 0}}),
            ": tensor token_embd.weight: expected at least one number, got none; the file is damaged");
  EXPECT_EQ(error_of({.context = 1}), ": llama.context_length: expected a context of at least 2 tokens, got 1");
  EXPECT_EQ(
      error_of({.head_size = 1U << 31}),
      ": llama.attention.key_length: expected at most 16, which the tensors have, got 2147483648; the model's sizes "
      "and its tensors do not belong together");
  EXPECT_EQ(
      error_of({.layers = 1U << 30}),
      ": llama.block_count: expected at most 11, which the tensors have, got 1073741824; the model's sizes and its "
      "tensors do not belong together");
}

TEST(ModelFuzz, MutatedModelsRunOrAreRejected) {
  const auto path = fresh_folder("mutated_models") + "/m.gguf";
  const auto run = [&](std::string_view bytes) { load_and_run(write_text(path, std::string(bytes))); };
  const auto result = fuzz({"model", {TinyLlama{}.bytes()}, run}, 2000, 1);
  EXPECT_EQ(result.failure, "") << "input " << result.inputs - 1;
  EXPECT_GT(result.accepted, 0);
  EXPECT_GT(result.rejected, 0);
  EXPECT_LT(result.slowest_seconds, 2.0);
}

}  // namespace
}  // namespace fwl
