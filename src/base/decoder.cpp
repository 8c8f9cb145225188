#include "base/decoder.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {

Initial fresh_matrix() {
  return Initial::normal(0.02);
}

at::Tensor rotary_frequencies(const RotaryConfig& rotary, int64_t head_size) {
  const int64_t size = rotary.size == 0 ? head_size : rotary.size;
  const auto half = at::arange(size / 2, at::kDouble);
  const auto frequencies = at::pow(rotary.base, -2 * half / static_cast<double>(size));
  return rotary.divisors.defined() ? frequencies / rotary.divisors.to(at::kDouble) : frequencies;
}

std::string layer_name(int64_t index, const char* part) {
  return fmt::format("model.layers.{}.{}", index, part);
}

}  // namespace

Decoder::Decoder(DecoderConfig config, WeightSource& source)
    : CachedModel(config.layers, config.heads, config.kv_heads, config.head_size), config_(std::move(config)) {
  config_.check();
  for (const auto& rotary : config_.rotaries) frequencies_.push_back(rotary_frequencies(rotary, config_.head_size));
  ParameterList list(source, weights_);
  embedding_ = list.table("model.embed_tokens.weight", config_.vocabulary_size, config_.hidden_size, fresh_matrix());
  for (int64_t index = 0; index < config_.layers; ++index) layers_.push_back(ask_for_layer(index, list));
  final_gain_ = list.vector("model.norm.weight", {config_.hidden_size}, Initial::constant(1 - config_.gain_offset));
  head_ = HeadFactory(VocabularyConfig::plain(config_.vocabulary_size, config_.hidden_size, config_.is_tied),
                      {{embedding_}, {}}, {.weight = "lm_head.weight", .bias = ""}, fresh_matrix(), list);
}

// The published names of the norms depend on where they are: Llama's post_attention_layernorm is the one before the
// feed-forward part.
Decoder::Layer Decoder::ask_for_layer(int64_t index, ParameterList& list) const {
  const int64_t hidden_size = config_.hidden_size;
  const auto gain = [&](const char* part) {
    return list.vector(layer_name(index, part), {hidden_size}, Initial::constant(1 - config_.gain_offset));
  };
  const auto matrix = [&](const char* part, int64_t rows, int64_t columns) {
    return list.matrix(layer_name(index, part), rows, columns, fresh_matrix());
  };
  const bool is_before = config_.norms == NormPlacement::before, is_around = config_.norms == NormPlacement::around;
  Layer layer;
  if (config_.norms != NormPlacement::after) layer.attention_gain = gain("input_layernorm.weight");
  ask_for_attention(layer, index, list);
  (is_before ? layer.inner_gain : layer.attention_out_gain) = gain("post_attention_layernorm.weight");
  if (is_around) layer.inner_gain = gain("pre_feedforward_layernorm.weight");
  if (config_.has_joined_gate) {
    layer.gate_up = matrix("mlp.gate_up_proj.weight", 2 * config_.ffn_size, hidden_size);
  } else {
    layer.gate = matrix("mlp.gate_proj.weight", config_.ffn_size, hidden_size);
    layer.up = matrix("mlp.up_proj.weight", config_.ffn_size, hidden_size);
  }
  layer.down = matrix("mlp.down_proj.weight", hidden_size, config_.ffn_size);
  if (!is_before) layer.inner_out_gain = gain("post_feedforward_layernorm.weight");
  return layer;
}

void Decoder::ask_for_attention(Layer& layer, int64_t index, ParameterList& list) const {
  const int64_t hidden_size = config_.hidden_size, query_size = config_.heads * config_.head_size,
                kv_size = config_.kv_heads * config_.head_size;
  const auto matrix = [&](const char* part, int64_t rows, int64_t columns) {
    return list.matrix(layer_name(index, part), rows, columns, fresh_matrix());
  };
  const auto bias = [&](const char* part, int64_t count, bool is_there) {
    return is_there ? list.vector(layer_name(index, part), {count}, Initial::constant(0)) : at::Tensor();
  };
  const bool has_bias = config_.has_attention_bias;
  if (config_.has_joined_attention) {
    layer.query_key_value = matrix("self_attn.qkv_proj.weight", query_size + 2 * kv_size, hidden_size);
    layer.output = matrix("self_attn.o_proj.weight", hidden_size, query_size);
    layer.query_key_value_bias = bias("self_attn.qkv_proj.bias", query_size + 2 * kv_size, has_bias);
  } else {
    layer.query = matrix("self_attn.q_proj.weight", query_size, hidden_size);
    layer.key = matrix("self_attn.k_proj.weight", kv_size, hidden_size);
    layer.value = matrix("self_attn.v_proj.weight", kv_size, hidden_size);
    layer.output = matrix("self_attn.o_proj.weight", hidden_size, query_size);
    layer.query_bias = bias("self_attn.q_proj.bias", query_size, has_bias);
    layer.key_bias = bias("self_attn.k_proj.bias", kv_size, has_bias);
    layer.value_bias = bias("self_attn.v_proj.bias", kv_size, has_bias);
  }
  layer.output_bias = bias("self_attn.o_proj.bias", hidden_size, config_.has_output_bias);
  if (config_.query_key_norms == QueryKeyNorms::none) return;
  const bool is_whole = config_.query_key_norms == QueryKeyNorms::whole;
  const auto gain = [&](const char* part, int64_t count) {
    return list.vector(layer_name(index, part), {count}, Initial::constant(1 - config_.gain_offset));
  };
  layer.query_gain = gain("self_attn.q_norm.weight", is_whole ? query_size : config_.head_size);
  layer.key_gain = gain("self_attn.k_norm.weight", is_whole ? kv_size : config_.head_size);
}

ContextOptions Decoder::default_context() const {
  const int64_t widest = config_.widest_window();
  if (widest == 0) return {.context_tokens = config_.context_tokens};
  return {.context_tokens = widest, .long_text = LongText::slide};
}

void Decoder::check_context(const ContextOptions& context) const {
  CachedModel::check_context(context);
  if (config_.context_tokens > 0 && context.context_tokens > config_.context_tokens)
    fail("context", fmt::format("at most {} tokens, the context length of this model", config_.context_tokens),
         std::to_string(context.context_tokens), config_.context_limit);
}

at::Tensor Decoder::normed(const at::Tensor& x, const at::Tensor& gain) const {
  if (!gain.defined()) return x;
  return rms_norm(x, config_.gain_offset == 0 ? gain : gain + config_.gain_offset, config_.norm_epsilon);
}

at::Tensor Decoder::without_gain(const at::Tensor& x) const {
  return rms_norm(x, at::ones({config_.hidden_size}, options()), config_.norm_epsilon);
}

at::Tensor Decoder::run(const TokenRows& rows, const BaseCall& call) const {
  const auto positions = rows.positions();
  std::vector<RotaryAngles> angles;
  for (size_t kind = 0; kind < frequencies_.size(); ++kind)
    angles.push_back(rotary_angles(frequencies_[kind], positions, options(), config_.rotaries[kind].scale));
  auto x = embedding_.select_rows(rows.tokens());  // N,D
  if (config_.embedding_scale != 1) x = x * config_.embedding_scale;
  for (int64_t index = 0; index < config_.layers; ++index) {
    const auto& layer = layers_[static_cast<size_t>(index)];
    const auto attended = attention(layer, index, normed(x, layer.attention_gain), angles, rows);
    x = x + normed(attended, layer.attention_out_gain);
    const auto input = normed(x, layer.inner_gain);
    const auto output = normed(feed_forward(layer, input), layer.inner_out_gain);
    const bool is_normed = !call.addition || layer.inner_gain.defined();
    x = x + with_addition(call, index, is_normed ? input : without_gain(input), output, rows);
  }
  const auto y = normed(x, final_gain_);
  return with_addition(call, config_.layers, y, y, rows);
}

at::Tensor Decoder::feed_forward(const Layer& layer, const at::Tensor& x) const {
  if (!config_.has_joined_gate) {
    const auto parts = apply_side_by_side(x, {{layer.gate, {}}, {layer.up, {}}});  // N,inner each
    return layer.down.apply(gated(config_.activation, parts[0], parts[1]));
  }
  const auto parts = layer.gate_up.apply(x).split(config_.ffn_size, 1);  // N,inner each
  return layer.down.apply(gated(config_.activation, parts[0].contiguous(), parts[1].contiguous()));
}

Decoder::Projections Decoder::projections(const Layer& layer, const at::Tensor& x) const {
  if (!config_.has_joined_attention) {
    auto parts = apply_side_by_side(
        x, {{layer.query, layer.query_bias}, {layer.key, layer.key_bias}, {layer.value, layer.value_bias}});
    return {parts[0], parts[1], parts[2]};
  }
  const int64_t kv_size = config_.kv_heads * config_.head_size;
  const auto parts = layer.query_key_value.apply(x, layer.query_key_value_bias)
                         .split_with_sizes({config_.heads * config_.head_size, kv_size, kv_size}, 1);
  return {parts[0].contiguous(), parts[1].contiguous(), parts[2].contiguous()};
}

// Normalised, if they are: N,heads * d -> 1,N,heads,d
at::Tensor Decoder::in_heads(const at::Tensor& x, const at::Tensor& gain, int64_t heads) const {
  const auto shape = {int64_t{1}, x.size(0), heads, config_.head_size};
  return config_.query_key_norms == QueryKeyNorms::whole ? normed(x, gain).view(shape) : normed(x.view(shape), gain);
}

at::Tensor Decoder::attention(const Layer& layer, int64_t index, const at::Tensor& x,
                              const std::vector<RotaryAngles>& angles, const TokenRows& rows) const {
  const auto projected = projections(layer, x);
  auto queries = in_heads(projected.queries, layer.query_gain, config_.heads);
  auto keys = in_heads(projected.keys, layer.key_gain, config_.kv_heads);
  const int64_t rotary = config_.layer_kind(index).rotary;
  if (rotary != DecoderLayer::unrotated) {
    queries = rotate_(queries, angles[static_cast<size_t>(rotary)], config_.rotary_pairs);
    keys = rotate_(keys, angles[static_cast<size_t>(rotary)], config_.rotary_pairs);
  }
  // `attend` divides scores by the root of the head size.
  if (config_.score_scale != 0)
    queries = queries * (config_.score_scale * std::sqrt(static_cast<double>(config_.head_size)));
  const auto values = projected.values.view({x.size(0), config_.kv_heads, config_.head_size});
  return layer.output.apply(attend(rows, index, queries[0], keys[0], values), layer.output_bias);
}

}  // namespace fwl
