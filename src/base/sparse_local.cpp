#include "base/sparse_local.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/products.h"
#include "engine/row_products.h"
#include "engine/torch.h"
#include "support/error.h"

namespace fwl {

void SparseLocalConfig::check(const std::string& where) const {
  if (hidden_size % heads != 0 || hidden_size / heads % 2 != 0)
    fail(where, "heads of equal and even size", fmt::format("hidden size {}, {} heads", hidden_size, heads));
  if (vocabulary.size < 1 || layers < 1 || block_tokens < 1)
    fail(where, "a vocabulary, layers and blocks of at least 1",
         fmt::format("{}, {}, {}", vocabulary.size, layers, block_tokens));
  vocabulary.check(where);
}

SparseLocal::SparseLocal(const SparseLocalConfig& config, WeightSource& source)
    : CachedModel(config.layers, config.heads, config.heads, config.hidden_size / config.heads), config_(config) {
  auto& vocabulary = config_.vocabulary;
  vocabulary.hidden_size = config_.hidden_size;
  vocabulary.head = vocabulary.cutoffs.empty() ? HeadKind::softmax : HeadKind::adaptive_softmax;
  if (vocabulary.embedding_size == 0 || !is_adaptive()) vocabulary.embedding_size = config_.hidden_size;
  config_.check("sparse-local model");
  const int64_t hidden_size = config_.hidden_size, head_size = hidden_size / config_.heads;
  const auto half = at::arange(head_size / 2, at::kDouble);
  frequencies_ = at::pow(config_.rope_base, -2 * half / static_cast<double>(head_size));
  ParameterList list(source, weights_);
  const auto one = Initial::constant(1), zero = Initial::constant(0);
  const double share =
      1 / (2.0 * static_cast<double>(config_.layers));  // scales the weights that write to the residual stream
  const auto norm = [&](const std::string& name) {
    return Norm{list.vector(name + ".weight", {hidden_size}, one), list.vector(name + ".bias", {hidden_size}, zero)};
  };
  const auto table = Initial::fan_in(hidden_size);
  if (is_adaptive())
    adaptive_embedding_ = AdaptiveEmbedding(vocabulary, list);
  else
    embedding_ = list.dense_table("embedding.weight", vocabulary.size, hidden_size, table);
  for (int64_t index = 0; index < config_.layers; ++index) {
    const auto name = [&](const char* part) { return fmt::format("layers.{}.{}", index, part); };
    Layer layer;
    layer.attention_norm = norm(name("attention_norm"));
    layer.query_key_value =
        list.dense_matrix(name("query_key_value.weight"), 3 * hidden_size, hidden_size, Initial::fan_in(hidden_size));
    layer.output =
        list.dense_matrix(name("output.weight"), hidden_size, hidden_size, Initial::fan_in(hidden_size, share));
    layer.inner_norm = norm(name("inner_norm"));
    layer.up = list.dense_matrix(name("up.weight"), config_.ffn_size, hidden_size, Initial::fan_in(hidden_size));
    layer.up_bias = list.vector(name("up.bias"), {config_.ffn_size}, zero);
    layer.down =
        list.dense_matrix(name("down.weight"), hidden_size, config_.ffn_size, Initial::fan_in(config_.ffn_size, share));
    layer.down_bias = list.vector(name("down.bias"), {hidden_size}, zero);
    layers_.push_back(layer);
  }
  final_norm_ = norm("final_norm");
  const auto tables = is_adaptive() ? adaptive_embedding_.tables() : EmbeddingTables{{embedding_}, {}};
  head_ = HeadFactory(vocabulary, tables, {.weight = "head.weight", .bias = "head.bias"}, table, list);
}

at::Tensor SparseLocal::embedded(const at::Tensor& tokens) const {
  return is_adaptive() ? adaptive_embedding_(tokens)
                       : at::embedding(embedding_, tokens) * std::sqrt(static_cast<double>(config_.hidden_size));
}

void SparseLocal::check_context(const ContextOptions& context) const {
  CachedModel::check_context(context);
  ContextOptions own;
  own.has_bf16_cache = context.has_bf16_cache;
  if (context != own)
    fail("context of a sparse-local model", "its own blocks", "another window", "it reads texts of any length");
}

at::Tensor SparseLocal::normed(const at::Tensor& x, const Norm& norm) const {
  return at::layer_norm(x, {config_.hidden_size}, norm.gain, norm.shift, 1e-5);
}

at::Tensor SparseLocal::dropped(const at::Tensor& x, const BaseCall& call) const {
  return call.is_training && config_.dropout > 0 ? at::dropout(x, config_.dropout, true) : x;
}

at::Tensor SparseLocal::run(const TokenRows& rows, const BaseCall& call) const {
  const auto angles = rotary_angles(frequencies_, rows.positions(), options());
  auto x = dropped(embedded(rows.tokens()), call);  // N,D
  for (int64_t index = 0; index < config_.layers; ++index) {
    const auto& layer = layers_[static_cast<size_t>(index)];
    x = x + dropped(attention(layer, index, normed(x, layer.attention_norm), angles, rows), call);
    const auto input = normed(x, layer.inner_norm);
    const auto inner = by_rows(product(input, layer.up.t()) + layer.up_bias,
                               [](const at::Tensor& row) { return at::gelu(row); });  // N,inner
    const auto output = product(inner, layer.down.t()) + layer.down_bias;
    x = x + dropped(with_addition(call, index, input, output, rows), call);
  }
  const auto y = normed(x, final_norm_);
  return with_addition(call, config_.layers, y, y, rows);
}

at::Tensor SparseLocal::attention(const Layer& layer, int64_t index, const at::Tensor& x, const RotaryAngles& angles,
                                  const TokenRows& rows) const {
  const auto all = product(x, layer.query_key_value.t());  // N,3D
  const auto parts = all.view({1, x.size(0), 3 * config_.heads, -1}).split(config_.heads, 2);
  const auto rotated = [&](const at::Tensor& heads) {
    return rotate_(heads, angles, RotaryPairs::halves)[0];  // N,heads,d
  };
  return product(attend(rows, index, rotated(parts[0]), rotated(parts[1]), parts[2][0]), layer.output.t());
}

}  // namespace fwl
