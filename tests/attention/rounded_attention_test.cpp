// Attention over keys and values in bf16, and a model that keeps them so.
#include "attention/rounded_attention.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/decoder.h"
#include "engine/tensor_checks.h"

namespace fwl {
namespace {

TEST(RoundedAttention, IsTheDefinitionOverTheRoundedKeysAndValues) {
  const at::NoGradGuard no_grad;
  at::manual_seed(1);
  for (const int64_t key_heads : {1, 3})
    for (const int64_t width : {32, 20})
      for (const auto visible : {VisibleKeys::all(), VisibleKeys::sliding(7), VisibleKeys::blocks(8)})
        for (const int64_t tokens : {1, 5}) {
          const auto queries = at::randn({2, 6, tokens, width});
          const auto room = at::randn({2, key_heads, 90, width}).to(at::kBFloat16);  // a cache has more room
          const auto keys = room.narrow(2, 0, 70), values = at::flip(room, {1}).narrow(2, 0, 70);
          const AttentionShape shape(queries, keys, 4);
          const auto expected =
              composed_attention(wide(queries), wide(keys), wide(values), AttentionShape(queries, keys, 4), visible);
          EXPECT_LT(relative_difference(rounded_attention(queries, keys, values, shape, visible), expected), 3e-6)
              << key_heads << " " << width << " " << tokens;
        }
}

// Rounded once, when they are kept: so a text gives the same whole, in pieces and token by token.
TEST(RoundedCache, HalvesTheMemoryAndReadsATextTheSameInEveryWay) {
  const at::NoGradGuard no_grad;
  at::manual_seed(2);
  DecoderConfig config;
  config.vocabulary_size = 60;
  config.hidden_size = config.ffn_size = 64;
  config.layers = config.heads = 2;
  config.kv_heads = 1;
  config.head_size = 32;
  config.context_tokens = 512;
  config.layer_kinds.assign(2, {});
  FreshWeights weights(3);
  const auto model = std::make_shared<Decoder>(config, weights);
  const auto tokens = at::randint(0, 60, {1, 300}, at::kLong);
  auto context = model->default_context();
  auto exact = model->new_state(1, context);
  const auto unrounded = model->read(tokens, exact);
  context.has_bf16_cache = true;
  auto whole = model->new_state(1, context), pieces = model->new_state(1, context),
       single = model->new_state(1, context);
  const auto expected = model->read(tokens, whole);
  std::vector<at::Tensor> in_pieces, one_by_one;
  for (int64_t start = 0; start < 300; start += 60)
    in_pieces.push_back(model->read(tokens.narrow(1, start, 60), pieces));
  for (int64_t start = 0; start < 300; ++start) one_by_one.push_back(model->read(tokens.narrow(1, start, 1), single));
  EXPECT_LT(relative_difference(at::cat(in_pieces, 1), expected), 1e-5);
  EXPECT_LT(relative_difference(at::cat(one_by_one, 1), expected), 1e-5);
  EXPECT_LT(relative_difference(expected, unrounded), 0.02);
  EXPECT_GT(relative_difference(expected, unrounded), 0);
  EXPECT_LT(static_cast<double>(whole.bytes()), 0.55 * static_cast<double>(exact.bytes()));
}

}  // namespace
}  // namespace fwl
