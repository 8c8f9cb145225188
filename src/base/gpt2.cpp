#include "base/gpt2.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/products.h"
#include "engine/row_products.h"
#include "engine/torch.h"
#include "support/error.h"

namespace fwl {

Gpt2::Gpt2(const Gpt2Config& config, WeightSource& source)
    : CachedModel(config.layers, config.heads, config.heads, config.hidden_size / config.heads), config_(config) {
  const int64_t hidden_size = config_.hidden_size;
  if (hidden_size % config_.heads != 0)
    fail("gpt2 model", "heads of equal size", fmt::format("hidden size {}, {} heads", hidden_size, config_.heads));
  ParameterList list(source, weights_);
  const auto normal = Initial::normal(0.02), one = Initial::constant(1), zero = Initial::constant(0);
  const auto output = Initial::normal(0.02 / std::sqrt(2.0 * static_cast<double>(config_.layers)));
  const auto norm = [&](const std::string& name) {
    return Norm{list.vector(name + ".weight", {hidden_size}, one), list.vector(name + ".bias", {hidden_size}, zero)};
  };
  const auto linear = [&](const std::string& name, int64_t in, int64_t out, const Initial& initial) {
    return Linear{list.dense_matrix(name + ".weight", in, out, initial), list.vector(name + ".bias", {out}, zero)};
  };
  embedding_ = list.table("transformer.wte.weight", config_.vocabulary_size, hidden_size, normal);
  positions_ = list.dense_table("transformer.wpe.weight", config_.context_tokens, hidden_size, Initial::normal(0.01));
  for (int64_t index = 0; index < config_.layers; ++index) {
    const auto name = [&](const char* part) { return fmt::format("transformer.h.{}.{}", index, part); };
    Layer layer;
    layer.attention_norm = norm(name("ln_1"));
    layer.query_key_value = linear(name("attn.c_attn"), hidden_size, 3 * hidden_size, normal);
    layer.output = linear(name("attn.c_proj"), hidden_size, hidden_size, output);
    layer.inner_norm = norm(name("ln_2"));
    layer.up = linear(name("mlp.c_fc"), hidden_size, config_.ffn_size, normal);
    layer.down = linear(name("mlp.c_proj"), config_.ffn_size, hidden_size, output);
    layers_.push_back(layer);
  }
  final_norm_ = norm("transformer.ln_f");
  head_ = HeadFactory(VocabularyConfig::plain(config_.vocabulary_size, hidden_size, config_.is_tied),
                      {{embedding_}, {}}, {.weight = "lm_head.weight", .bias = ""}, normal, list);
}

ContextOptions Gpt2::default_context() const {
  return {.context_tokens = config_.context_tokens};
}

void Gpt2::check_context(const ContextOptions& context) const {
  CachedModel::check_context(context);
  if (context.context_tokens < 1 || context.context_tokens > config_.context_tokens)
    fail("context", fmt::format("1 to {} tokens, the positions of this model", config_.context_tokens),
         std::to_string(context.context_tokens));
  if (context.long_text == LongText::slide)
    fail("context of a gpt2 model", "refuse or restart", "slide", "its positions are absolute");
}

at::Tensor Gpt2::normed(const at::Tensor& x, const Norm& norm) const {
  return at::layer_norm(x, {config_.hidden_size}, norm.gain, norm.shift, config_.norm_epsilon);
}

at::Tensor Gpt2::dropped(const at::Tensor& x, const BaseCall& call) const {
  return call.is_training && config_.dropout > 0 ? at::dropout(x, config_.dropout, true) : x;
}

at::Tensor Gpt2::run(const TokenRows& rows, const BaseCall& call) const {
  const auto positions = at::embedding(positions_, rows.positions().to(device()));  // N,D
  auto x = dropped(embedding_.select_rows(rows.tokens()) + positions, call);        // N,D
  for (int64_t index = 0; index < config_.layers; ++index) {
    const auto& layer = layers_[static_cast<size_t>(index)];
    x = x + dropped(attention(layer, index, normed(x, layer.attention_norm), rows, call), call);
    const auto input = normed(x, layer.inner_norm);
    const auto inner = by_rows(product(input, layer.up.weight) + layer.up.bias,
                               [](const at::Tensor& row) { return at::gelu(row, "tanh"); });  // N,inner
    const auto output = product(inner, layer.down.weight) + layer.down.bias;
    x = x + dropped(with_addition(call, index, input, output, rows), call);
  }
  const auto y = normed(x, final_norm_);
  return with_addition(call, config_.layers, y, y, rows);
}

at::Tensor Gpt2::attention(const Layer& layer, int64_t index, const at::Tensor& x, const TokenRows& rows,
                           const BaseCall& call) const {
  const auto all = product(x, layer.query_key_value.weight) + layer.query_key_value.bias;  // N,3D
  const auto parts = all.view({x.size(0), 3, config_.heads, config_.hidden_size / config_.heads}).unbind(1);
  const auto attended =
      attend(rows, index, parts[0], parts[1], parts[2], call.is_training ? config_.dropout : 0);  // N,D
  return product(attended, layer.output.weight) + layer.output.bias;
}

}  // namespace fwl
