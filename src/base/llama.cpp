#include "base/llama.h"

#include <fmt/format.h>

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {

Llama::Llama(LlamaConfig config, WeightSource& source)
    : CachedModel(config.layers, config.heads, config.kv_heads, config.head_size), config_(std::move(config)) {
  const int64_t hidden_size = config_.hidden_size, query_size = config_.heads * config_.head_size,
                kv_size = config_.kv_heads * config_.head_size;
  if (config_.heads % config_.kv_heads != 0)
    fail("llama model", "heads that are a multiple of kv heads",
         fmt::format("{} heads, {} kv heads", config_.heads, config_.kv_heads));
  const auto half = at::arange(config_.head_size / 2, at::kDouble);
  frequencies_ = at::pow(config_.rope_base, -2 * half / static_cast<double>(config_.head_size));
  if (config_.rotary_divisors.defined()) frequencies_ = frequencies_ / config_.rotary_divisors.to(at::kDouble);

  ParameterList list(source, weights_);
  const auto normal = Initial::normal(0.02), one = Initial::constant(1), zero = Initial::constant(0);
  embedding_ = list.table("model.embed_tokens.weight", config_.vocabulary_size, hidden_size, normal);
  for (int64_t index = 0; index < config_.layers; ++index) {
    const auto name = [&](const char* part) { return fmt::format("model.layers.{}.{}", index, part); };
    const auto bias = [&](const char* part, int64_t count, bool is_there) {
      return is_there ? list.vector(name(part), {count}, zero) : at::Tensor();
    };
    Layer layer;
    layer.attention_gain = list.vector(name("input_layernorm.weight"), {hidden_size}, one);
    layer.query = list.matrix(name("self_attn.q_proj.weight"), query_size, hidden_size, normal);
    layer.key = list.matrix(name("self_attn.k_proj.weight"), kv_size, hidden_size, normal);
    layer.value = list.matrix(name("self_attn.v_proj.weight"), kv_size, hidden_size, normal);
    layer.output = list.matrix(name("self_attn.o_proj.weight"), hidden_size, query_size, normal);
    layer.query_bias = bias("self_attn.q_proj.bias", query_size, config_.has_attention_bias);
    layer.key_bias = bias("self_attn.k_proj.bias", kv_size, config_.has_attention_bias);
    layer.value_bias = bias("self_attn.v_proj.bias", kv_size, config_.has_attention_bias);
    layer.output_bias = bias("self_attn.o_proj.bias", hidden_size, config_.has_output_bias);
    layer.inner_gain = list.vector(name("post_attention_layernorm.weight"), {hidden_size}, one);
    layer.gate = list.matrix(name("mlp.gate_proj.weight"), config_.ffn_size, hidden_size, normal);
    layer.up = list.matrix(name("mlp.up_proj.weight"), config_.ffn_size, hidden_size, normal);
    layer.down = list.matrix(name("mlp.down_proj.weight"), hidden_size, config_.ffn_size, normal);
    layers_.push_back(layer);
  }
  final_gain_ = list.vector("model.norm.weight", {hidden_size}, one);
  head_ = HeadFactory(VocabularyConfig::plain(config_.vocabulary_size, hidden_size, config_.is_tied),
                      {{embedding_}, {}}, {.weight = "lm_head.weight", .bias = ""}, normal, list);
}

ContextOptions Llama::default_context() const {
  if (config_.sliding_tokens == 0) return {.context_tokens = config_.context_tokens};
  return {.context_tokens = config_.sliding_tokens, .long_text = LongText::slide};
}

void Llama::check_context(const ContextOptions& context) const {
  CachedModel::check_context(context);
  if (config_.context_tokens > 0 && context.context_tokens > config_.context_tokens)
    fail("context", fmt::format("at most {} tokens, the context length of this model", config_.context_tokens),
         std::to_string(context.context_tokens));
}

at::Tensor Llama::run(const TokenRows& rows, const BaseCall& call) const {
  const auto angles = rotary_angles(frequencies_, rows.positions(), options());
  auto x = embedding_.select_rows(rows.tokens());  // N,D
  for (int64_t index = 0; index < config_.layers; ++index) {
    const auto& layer = layers_[static_cast<size_t>(index)];
    x = x + attention(layer, index, rms_norm(x, layer.attention_gain, config_.norm_epsilon), angles, rows);
    const auto normed = rms_norm(x, layer.inner_gain, config_.norm_epsilon);
    const auto inner = layer.down.apply(swiglu(layer.gate.apply(normed), layer.up.apply(normed)));
    x = x + with_addition(call, index, normed, inner, rows);
  }
  return rms_norm(x, final_gain_, config_.norm_epsilon);
}

at::Tensor Llama::attention(const Layer& layer, int64_t index, const at::Tensor& x, const RotaryAngles& angles,
                            const TokenRows& rows) const {
  const auto in_heads = [&](const Matrix& matrix, const at::Tensor& bias, int64_t heads) {
    return matrix.apply(x, bias).view({1, x.size(0), heads, config_.head_size});  // 1,N,heads,d
  };
  const auto queries = rotate_(in_heads(layer.query, layer.query_bias, config_.heads), angles, config_.rotary_pairs);
  const auto keys = rotate_(in_heads(layer.key, layer.key_bias, config_.kv_heads), angles, config_.rotary_pairs);
  const auto values = in_heads(layer.value, layer.value_bias, config_.kv_heads);
  return layer.output.apply(attend(rows, index, queries[0], keys[0], values[0]), layer.output_bias);
}

}  // namespace fwl
