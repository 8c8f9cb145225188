#include "base/transformer_xl.h"

#include <fmt/format.h>

#include <cmath>

#include "attention/relative_attention.h"
#include "engine/products.h"
#include "engine/torch.h"
#include "support/error.h"

namespace fwl {

TransformerXl::TransformerXl(TransformerXlConfig config, WeightSource& source) : config_(std::move(config)) {
  if (config_.head_size == 0) {
    if (config_.vocabulary.hidden_size % config_.heads != 0)
      fail("transformer-xl model", "heads of equal size",
           fmt::format("hidden size {}, {} heads", config_.vocabulary.hidden_size, config_.heads));
    config_.head_size = config_.vocabulary.hidden_size / config_.heads;
  }
  if (config_.vocabulary.embedding_size == 0) config_.vocabulary.embedding_size = config_.vocabulary.hidden_size;
  config_.vocabulary.head = HeadKind::adaptive_softmax;
  config_.vocabulary.check("transformer-xl model");
  const int64_t hidden_size = config_.vocabulary.hidden_size, all_heads = config_.heads * config_.head_size;
  ParameterList list(source, weights_);
  embedding_ = AdaptiveEmbedding(config_.vocabulary, list);
  const auto normal = Initial::normal(0.02), zero = Initial::constant(0);
  const Initial gain_start{1, 0.02, {}};
  at::Tensor shared_content, shared_position;
  const std::vector<int64_t> bias_shape = {config_.heads, config_.head_size};
  if (!config_.has_biases_per_layer) {
    shared_content = list.vector("transformer.r_w_bias", bias_shape, normal);
    shared_position = list.vector("transformer.r_r_bias", bias_shape, normal);
  }
  for (int64_t index = 0; index < config_.layers; ++index) {
    const auto name = [&](const char* part) { return fmt::format("transformer.layers.{}.{}", index, part); };
    const auto matrix = [&](const char* part, int64_t rows, int64_t columns) {
      return list.dense_matrix(name(part), rows, columns, Initial::fan_in(columns));
    };
    const auto vector = [&](const char* part, at::IntArrayRef shape, const Initial& initial) {
      return list.vector(name(part), shape, initial);
    };
    Layer layer;
    layer.query_key_value = matrix("dec_attn.qkv_net.weight", 3 * all_heads, hidden_size);
    layer.distance = matrix("dec_attn.r_net.weight", all_heads, hidden_size);
    layer.output = matrix("dec_attn.o_net.weight", hidden_size, all_heads);
    const bool has_own = config_.has_biases_per_layer;
    layer.content_bias = has_own ? vector("dec_attn.r_w_bias", bias_shape, normal) : shared_content;
    layer.position_bias = has_own ? vector("dec_attn.r_r_bias", bias_shape, normal) : shared_position;
    layer.attention_gain = vector("dec_attn.layer_norm.weight", {hidden_size}, gain_start);
    layer.attention_shift = vector("dec_attn.layer_norm.bias", {hidden_size}, zero);
    layer.up = matrix("pos_ff.CoreNet.0.weight", config_.ffn_size, hidden_size);
    layer.up_bias = vector("pos_ff.CoreNet.0.bias", {config_.ffn_size}, zero);
    layer.down = matrix("pos_ff.CoreNet.3.weight", hidden_size, config_.ffn_size);
    layer.down_bias = vector("pos_ff.CoreNet.3.bias", {hidden_size}, zero);
    layer.inner_gain = vector("pos_ff.layer_norm.weight", {hidden_size}, gain_start);
    layer.inner_shift = vector("pos_ff.layer_norm.bias", {hidden_size}, zero);
    layers_.push_back(layer);
  }
  head_ = HeadFactory(config_.vocabulary, embedding_.tables(), {}, {}, list);
}

ContextOptions TransformerXl::default_context() const {
  return {.memory_tokens = config_.memory_tokens,
          .clamp_tokens = config_.clamp_tokens,
          .is_same_length = config_.is_same_length};
}

void TransformerXl::check_context(const ContextOptions& context) const {
  if (context.context_tokens != 0 || context.long_text != LongText::refuse)
    fail("context of a transformer-xl model", "its own memory", "a window", "it reads texts of any length");
  if (context.memory_tokens < (context.is_same_length ? 1 : 0) || context.clamp_tokens < 0)
    fail("transformer-xl model", "a memory of at least one token and a clamp of at least 0",
         fmt::format("memory {}, clamp {}", context.memory_tokens, context.clamp_tokens));
}

BaseState TransformerXl::trimmed(const BaseState& state) const {
  auto copy = state.clone();
  copy.derived.clear();
  const bool holds_keys = copy.cache.size() > layers_.size();
  if (!holds_keys) return copy;
  const int64_t kept = kept_tokens(state);
  for (auto& cache : copy.cache) cache = cache.narrow(2, state.cached_tokens - kept, kept).contiguous();
  copy.cached_tokens = kept;
  return copy;
}

// The memory, and before it what is visible again once tokens are taken back.
int64_t TransformerXl::kept_tokens(const BaseState& state) const {
  return std::min(state.cached_tokens, state.context.memory_tokens + state.undo_tokens);
}

std::vector<std::vector<int64_t>> TransformerXl::cache_shapes(const BaseState& state) const {
  if (state.cache.empty()) return {};
  const int64_t memory = state.context.memory_tokens, cached = state.cached_tokens;
  const bool holds_inputs = state.cache.size() == layers_.size();
  if (holds_inputs ? cached != memory : cached < memory)
    fail("transformer-xl state", fmt::format("a memory of {} tokens", memory), std::to_string(state.cached_tokens),
         "the file is damaged, or was made with another memory length");
  if (holds_inputs) return std::vector<std::vector<int64_t>>(layers_.size(), {state.sequences, memory, hidden_size()});
  return std::vector<std::vector<int64_t>>(2 * layers_.size(),
                                           {state.sequences, config_.heads, cached, config_.head_size});
}

// Content scores, position scores and weighted sums. In training, the memory's keys and values are projected again.
double TransformerXl::attention_flops(int64_t segment_tokens) const {
  const auto segment = static_cast<double>(std::max<int64_t>(1, segment_tokens));
  const auto memory = static_cast<double>(config_.memory_tokens);
  const auto size_of_heads = static_cast<double>(config_.heads * config_.head_size);
  const double keys = config_.is_same_length ? memory : memory + segment / 2;
  const double again = wants_gradient() ? memory / segment * 4 * size_of_heads * static_cast<double>(hidden_size()) : 0;
  return static_cast<double>(config_.layers) * (6 * keys * size_of_heads + again);
}

bool TransformerXl::wants_gradient() const {
  return at::GradMode::is_enabled() && layers_.front().query_key_value.requires_grad();
}

at::Tensor TransformerXl::dropped(const at::Tensor& x, const BaseCall& call) const {
  return call.is_training && config_.dropout > 0 ? at::dropout(x, config_.dropout, true) : x;
}

at::Tensor TransformerXl::in_heads(const at::Tensor& x) const {
  return x.unflatten(2, {config_.heads, config_.head_size}).transpose(1, 2);
}

at::Tensor TransformerXl::normed(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& shift) const {
  return at::layer_norm(x, {hidden_size()}, gain, shift, config_.norm_epsilon);
}

std::vector<at::Tensor> TransformerXl::read_checked(const std::vector<TokenSpan>& spans, const BaseCall& call) const {
  for (const auto& [tokens, state] : spans) prepare(*state, tokens.size(1));
  const TokenRows rows(spans);
  auto x = dropped(embedding_(rows.tokens()), call);  // N,D
  for (int64_t index = 0; index < config_.layers; ++index) {
    const auto& layer = layers_[static_cast<size_t>(index)];
    const auto attended = x + attention(layer, index, x, rows, call);
    x = config_.is_pre_norm ? attended : normed(attended, layer.attention_gain, layer.attention_shift);
    const auto transformed = x + inner(layer, index, x, rows, call);
    x = config_.is_pre_norm ? transformed : normed(transformed, layer.inner_gain, layer.inner_shift);
  }
  const auto out = dropped(with_addition(call, config_.layers, x, x, rows), call);
  std::vector<at::Tensor> hidden;
  for (size_t span = 0; span < spans.size(); ++span) {
    auto& state = *spans[span].state;
    state.tokens_read += spans[span].tokens.size(1);
    if (!wants_gradient()) state.cached_tokens += spans[span].tokens.size(1);
    hidden.push_back(rows.rows_of(span, out));
  }
  return hidden;
}

// Memories start as zeros of full length, visible to every position. With gradients, the cache holds each layer's last
// memory_tokens inputs; without, each layer's keys and values, with room to append.
void TransformerXl::prepare(BaseState& state, int64_t tokens) const {
  const auto count = static_cast<size_t>(config_.layers);
  const int64_t memory = state.context.memory_tokens;
  if (wants_gradient()) {
    if (state.cache.empty()) {
      for (size_t index = 0; index < count; ++index)
        state.cache.push_back(at::zeros({state.sequences, memory, hidden_size()}, options()));
      state.cached_tokens = memory;
    }
    if (state.cache.size() != count)
      fail("transformer-xl model", "a state made with gradients enabled", "one that holds only keys and values",
           "start training from a new state");
    return;
  }
  const at::NoGradGuard no_grad;
  if (state.cache.size() == count && count > 0) {  // a state from training: project its inputs
    std::vector<at::Tensor> projected;
    for (size_t index = 0; index < count; ++index) {
      const auto pair = project(layers_[index], attention_input(layers_[index], state.cache[index]));
      projected.push_back(pair.keys);
      projected.push_back(pair.values);
    }
    state.cache = projected;
  }
  if (state.cache.empty()) {
    const auto nothing = at::zeros({state.sequences, 1, hidden_size()}, options());
    for (const auto& layer : layers_) {  // with pre-norm, zeros do not project to zeros
      const auto [key, value] = project(layer, attention_input(layer, nothing));
      for (const auto& start : {key, value}) state.cache.push_back(start.expand({-1, -1, memory, -1}));
    }
    state.cached_tokens = memory;
  }
  if (state.cached_tokens + tokens <= state.cache.front().size(2)) return;
  const int64_t kept = kept_tokens(state), room = kept + tokens + std::max<int64_t>(64, memory / 2);
  for (auto& cache : state.cache) {
    auto larger = at::empty({state.sequences, config_.heads, room, config_.head_size}, options());
    larger.narrow(2, 0, kept).copy_(cache.narrow(2, state.cached_tokens - kept, kept));
    cache = larger;
  }
  state.cached_tokens = kept;
}

// The projected sinusoids of distances keys-1 … 0. They are the same for every segment until the weights change.
// heads,keys,d
at::Tensor TransformerXl::distance_keys(int64_t index, int64_t keys, BaseState& state, const BaseCall& call) const {
  state.derived.resize(layers_.size());
  auto& known = state.derived[static_cast<size_t>(index)];
  if (!wants_gradient() && known.defined() && known.size(1) == keys) return known;
  const auto& weight = layers_[static_cast<size_t>(index)].distance;
  auto distances = at::arange(keys - 1, -1, -1, at::kDouble);
  if (state.context.clamp_tokens > 0) distances.clamp_max_(state.context.clamp_tokens);
  const auto steps = at::arange(0, hidden_size(), 2, at::kDouble) / static_cast<double>(hidden_size());
  const auto angles = at::outer(distances, at::pow(10000.0, -steps));                            // keys,D/2
  const auto sinusoids = dropped(at::cat({angles.sin(), angles.cos()}, 1).to(options()), call);  // keys,D
  const auto projected = product(sinusoids, weight.t()).view({keys, config_.heads, config_.head_size}).transpose(0, 1);
  known = wants_gradient() ? at::Tensor() : projected;
  return projected;
}

at::Tensor TransformerXl::attention_input(const Layer& layer, const at::Tensor& x) const {
  return config_.is_pre_norm ? normed(x, layer.attention_gain, layer.attention_shift) : x;
}

TransformerXl::KeysAndValues TransformerXl::project(const Layer& layer, const at::Tensor& input) const {
  const int64_t all_heads = config_.heads * config_.head_size;
  const auto both = product(input, layer.query_key_value.narrow(0, all_heads, 2 * all_heads).t()).chunk(2, -1);
  return {in_heads(both[0]), in_heads(both[1])};
}

TransformerXl::KeysAndValues TransformerXl::extend_hidden(const Layer& layer, int64_t index, const at::Tensor& x,
                                                          BaseState& state) const {
  auto& memory = state.cache[static_cast<size_t>(index)];
  const auto all = at::cat({memory, x}, 1);  // B,K,D
  memory = all.detach().slice(1, all.size(1) - state.context.memory_tokens).clone();
  return project(layer, attention_input(layer, all));
}

TransformerXl::KeysAndValues TransformerXl::extend(int64_t index, const KeysAndValues& latest, BaseState& state) const {
  const int64_t cached = state.cached_tokens, memory = state.context.memory_tokens, count = latest.keys.size(2);
  const auto append = [&](size_t cache_index, const at::Tensor& added) {
    auto& cache = state.cache[cache_index];
    at::Tensor all;
    if (at::GradMode::is_enabled() && added.requires_grad())
      all = at::cat({cache.narrow(2, cached - memory, memory), added}, 2);
    const at::NoGradGuard no_grad;
    cache.narrow(2, cached, count).copy_(added);
    return all.defined() ? all : cache.narrow(2, cached - memory, memory + count);
  };
  return {append(static_cast<size_t>(2 * index), latest.keys),
          append(static_cast<size_t>(2 * index + 1), latest.values)};
}

// Without gradients, the keys and values of all spans are projected together; with gradients, span by span, because
// each span's memory is projected too.
at::Tensor TransformerXl::attention(const Layer& layer, int64_t index, const at::Tensor& x, const TokenRows& rows,
                                    const BaseCall& call) const {
  const int64_t all_heads = config_.heads * config_.head_size;
  const auto input = attention_input(layer, x);                                            // N,D
  const auto queries = product(input, layer.query_key_value.narrow(0, 0, all_heads).t());  // N,heads*d
  const auto both = wants_gradient()
                        ? at::Tensor()
                        : product(input, layer.query_key_value.narrow(0, all_heads, 2 * all_heads).t());  // N,2*heads*d
  const auto attended = rows.for_each_span([&](size_t span) {
    auto& state = *rows.spans()[span].state;
    const auto latest = [&](int64_t first) { return in_heads(rows.rows_of(span, both.narrow(1, first, all_heads))); };
    const auto [keys, values] = wants_gradient() ? extend_hidden(layer, index, rows.rows_of(span, x), state)
                                                 : extend(index, {latest(0), latest(all_heads)}, state);
    return relative_attention(
        in_heads(rows.rows_of(span, queries)), keys, values, distance_keys(index, keys.size(2), state, call),
        {layer.content_bias, layer.position_bias}, state.context.is_same_length ? state.context.memory_tokens : 0,
        call.is_training ? config_.attention_dropout : 0);  // B,T,heads*d
  });
  return dropped(product(attended, layer.output.t()), call);
}

at::Tensor TransformerXl::inner(const Layer& layer, int64_t index, const at::Tensor& x, const TokenRows& rows,
                                const BaseCall& call) const {
  const auto input = config_.is_pre_norm ? normed(x, layer.inner_gain, layer.inner_shift) : x;
  const auto hidden = dropped(at::relu(product(input, layer.up.t()) + layer.up_bias), call);  // B,T,inner
  const auto output = product(hidden, layer.down.t()) + layer.down_bias;
  return dropped(with_addition(call, index, input, output, rows), call);
}

}  // namespace fwl
