#include "base/cached_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/reading_window.h"
#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {

// The next window starts with the last half of a full one.
int64_t reread_tokens(const BaseState& state) {
  return std::min(state.recent.size(1), std::max<int64_t>(1, state.context.context_tokens / 2));
}

// A cache grows by half its size, so that appending takes amortised constant time per token.
int64_t capacity_for(int64_t tokens) {
  return tokens + std::max<int64_t>(64, tokens / 2);
}

// Makes room for new tokens after the cached ones, which are kept as `type`.   like: B,T,kv heads,d
void make_room(at::Tensor& cache, int64_t cached, int64_t new_tokens, const at::Tensor& like, at::ScalarType type) {
  if (cache.defined() && cache.scalar_type() != type) cache = cache.to(type);
  const int64_t capacity = cache.defined() ? cache.size(2) : 0;
  if (cached + new_tokens <= capacity) return;
  auto larger = at::empty({like.size(0), like.size(2), capacity_for(cached + new_tokens), like.size(3)},
                          like.options().dtype(type).requires_grad(false));
  if (cached > 0) larger.narrow(2, 0, cached).copy_(cache.narrow(2, 0, cached));
  cache = larger;
}

}  // namespace

// How many of its cached tokens a layer needs to continue. A layer that sees the whole context keeps all it has.
int64_t CachedModel::needed_tokens(const BaseState& state, int64_t layer) const {
  const int64_t window = window_tokens(layer);
  return window == 0 ? state.cached_tokens : std::min(state.cached_tokens, window - 1 + state.undo_tokens);
}

BaseState CachedModel::trimmed(const BaseState& state) const {
  auto copy = state.clone();
  if (state.cached_tokens == 0) {
    copy.cache.clear();
    return copy;
  }
  count_layer_tokens(copy);
  copy.cached_tokens = 0;
  for (int64_t layer = 0; layer < layers_; ++layer) {
    auto& tokens = copy.layer_tokens[static_cast<size_t>(layer)];
    const int64_t kept = std::min(tokens, needed_tokens(state, layer));
    for (auto* cache : {&copy.cache[static_cast<size_t>(2 * layer)], &copy.cache[static_cast<size_t>(2 * layer + 1)]})
      *cache = cache->narrow(2, tokens - kept, kept).contiguous();
    tokens = kept;
    copy.cached_tokens = std::max(copy.cached_tokens, kept);
  }
  return copy;
}

std::vector<std::vector<int64_t>> CachedModel::cache_shapes(const BaseState& state) const {
  std::vector<std::vector<int64_t>> shapes;
  for (int64_t layer = 0; layer < layers_ && state.cached_tokens > 0; ++layer)
    shapes.insert(shapes.end(), 2, {state.sequences, kv_heads_, needed_tokens(state, layer), head_size_});
  return shapes;
}

double CachedModel::attention_flops(int64_t segment_tokens) const {
  double keys = 0;  // visible to a position, on average, in all layers
  for (int64_t layer = 0; layer < layers_; ++layer) {
    const auto visible = visible_keys(default_context(), layer);
    for (int64_t position = 0; position < segment_tokens; ++position)
      keys += static_cast<double>(position + 1 - visible.first(position));
  }
  keys /= static_cast<double>(std::max<int64_t>(1, segment_tokens));
  return 4 * keys * static_cast<double>(heads_ * head_size_);
}

int64_t CachedModel::window_room(const BaseState& state) const {
  const auto& context = state.context;
  if (context.context_tokens == 0 || context.long_text == LongText::slide) return BaseModel::window_room(state);
  const int64_t room = context.context_tokens - (state.tokens_read - state.window_start);
  if (room > 0 || context.long_text == LongText::refuse) return room;
  return context.context_tokens - reread_tokens(state);
}

void CachedModel::rewind(BaseState& state, int64_t tokens) const {
  BaseModel::rewind(state, tokens);
  count_layer_tokens(state);
  for (auto& cached : state.layer_tokens) cached -= tokens;
  if (state.recent.defined()) state.recent = state.recent.slice(1, 0, state.recent.size(1) - tokens);
}

void CachedModel::check_context(const ContextOptions& context) const {
  if (context.context_tokens < 0 || context.context_tokens == 1)
    fail("context", "at least 2 tokens", std::to_string(context.context_tokens));
  if (context.memory_tokens != 0 || context.clamp_tokens != 0 || context.is_same_length)
    fail("memory of a " + architecture() + " model", "a transformer-xl model", "another architecture");
}

VisibleKeys CachedModel::visible_keys(const ContextOptions& context, int64_t layer) const {
  int64_t tokens = window_tokens(layer);
  if (context.long_text == LongText::slide && context.context_tokens > 0)
    tokens = tokens == 0 ? context.context_tokens : std::min(tokens, context.context_tokens);
  return tokens > 0 ? VisibleKeys::sliding(tokens) : VisibleKeys::all();
}

// A span while it is read, in one or more passes: a full window restarts in a pass of its own.
struct CachedModel::Reading {
  TokenSpan span;
  int64_t start = 0;              // tokens of the span that have been read
  bool is_rereading = false;      // this pass rereads the last half of the old window
  std::vector<at::Tensor> parts;  // B,t,D each

  bool is_done() const { return start == span.tokens.size(1); }
};

std::vector<at::Tensor> CachedModel::read_checked(const std::vector<TokenSpan>& spans, const BaseCall& call) const {
  std::vector<Reading> readings;
  for (const auto& span : spans) {
    check_length(span);
    readings.push_back({.span = span, .parts = {}});
  }
  while (true) {
    std::vector<Reading*> unfinished;
    for (auto& reading : readings)
      if (!reading.is_done()) unfinished.push_back(&reading);
    if (unfinished.empty()) break;
    run_pass(unfinished, call);
  }
  std::vector<at::Tensor> hidden;
  for (const auto& reading : readings)
    hidden.push_back(reading.parts.size() == 1 ? reading.parts[0] : at::cat(reading.parts, 1));
  return hidden;
}

void CachedModel::check_length(const TokenSpan& span) const {
  const auto& context = span.state->context;
  const int64_t length = span.state->tokens_read + span.tokens.size(1);
  if (context.context_tokens > 0 && context.long_text == LongText::refuse && length > context.context_tokens)
    fail(architecture() + " model", fmt::format("at most {} tokens of context", context.context_tokens),
         std::to_string(length), "for longer texts, let the context slide or restart");
}

// The part of a span that the next pass reads: at most what its window has room for.
TokenSpan CachedModel::next_part(Reading& reading) const {
  auto& state = *reading.span.state;
  const auto& context = state.context;
  const int64_t left = reading.span.tokens.size(1) - reading.start;
  int64_t count =
      at::GradMode::is_enabled() ? left : std::min(left, reading_window_tokens);  // gradients do not cross passes
  reading.is_rereading = false;
  if (context.context_tokens > 0 && context.long_text != LongText::slide) {
    const int64_t room = context.context_tokens - (state.tokens_read - state.window_start);
    if (room == 0) {
      reading.is_rereading = true;
      const auto again = state.recent.slice(1, state.recent.size(1) - reread_tokens(state));
      state.recent = state.recent.slice(1, 0, state.recent.size(1) - again.size(1));
      state.cached_tokens = 0;
      state.layer_tokens.assign(static_cast<size_t>(layers_), 0);
      state.tokens_read -= again.size(1);
      state.window_start = state.tokens_read;
      return {again, &state};
    }
    count = std::min(count, room);
  }
  return {reading.span.tokens.narrow(1, reading.start, count), &state};
}

void CachedModel::run_pass(const std::vector<Reading*>& readings, const BaseCall& call) const {
  std::vector<TokenSpan> parts;
  for (auto* reading : readings) {
    parts.push_back(next_part(*reading));
    auto& state = *reading->span.state;
    count_layer_tokens(state);
    for (int64_t layer = 0; layer < layers_; ++layer) drop_unseen_keys(state, layer, parts.back().tokens.size(1));
  }
  const TokenRows rows(parts);
  const auto hidden = run(rows, call);  // N,D
  for (size_t index = 0; index < readings.size(); ++index) {
    const auto& [tokens, state] = parts[index];
    state->tokens_read += tokens.size(1);
    for (auto& cached : state->layer_tokens) cached += tokens.size(1);
    state->cached_tokens = std::ranges::max(state->layer_tokens);
    const auto& context = state->context;
    if (context.long_text == LongText::restart && context.context_tokens > 0) {
      const auto all = state->recent.defined() ? at::cat({state->recent, tokens}, 1) : tokens;
      const int64_t reread = std::max<int64_t>(1, context.context_tokens / 2);
      const int64_t count = std::min(all.size(1), reread + state->undo_tokens);
      state->recent = all.slice(1, all.size(1) - count).clone();
    }
    if (readings[index]->is_rereading) continue;
    readings[index]->start += tokens.size(1);
    readings[index]->parts.push_back(rows.rows_of(index, hidden));
  }
}

// A state that was just made has no caches, and one that was loaded has exact ones.
void CachedModel::count_layer_tokens(BaseState& state) const {
  state.cache.resize(static_cast<size_t>(2 * layers_));
  if (!state.layer_tokens.empty()) return;
  for (int64_t layer = 0; layer < layers_; ++layer) {
    const auto& keys = state.cache[static_cast<size_t>(2 * layer)];
    state.layer_tokens.push_back(keys.defined() ? keys.size(2) : 0);
  }
}

// Drops keys that no later position sees, if the cache is full and they are at least a quarter of it. A cache that grew
// while a long text was read at once becomes smaller again.
void CachedModel::drop_unseen_keys(BaseState& state, int64_t layer, int64_t new_tokens) const {
  auto& cached = state.layer_tokens[static_cast<size_t>(layer)];
  const int64_t first_position = state.tokens_read - cached;
  const int64_t first_readable = std::max<int64_t>(0, state.tokens_read - state.undo_tokens);
  const int64_t unseen = std::min(cached, visible_keys(state.context, layer).first(first_readable) - first_position);
  const auto* keys = &state.cache[static_cast<size_t>(2 * layer)];
  if (!keys->defined() || cached + new_tokens <= keys->size(2) || 4 * unseen < cached) return;
  cached -= unseen;
  for (auto* cache : {&state.cache[static_cast<size_t>(2 * layer)], &state.cache[static_cast<size_t>(2 * layer + 1)]}) {
    const auto seen = cache->narrow(2, unseen, cached).clone();
    if (2 * capacity_for(cached + new_tokens) <= cache->size(2))
      *cache = cache->narrow(2, 0, capacity_for(cached + new_tokens)).clone();
    cache->narrow(2, 0, cached).copy_(seen);
  }
}

at::Tensor CachedModel::attend(const TokenRows& rows, int64_t layer, const at::Tensor& queries, const at::Tensor& keys,
                               const at::Tensor& values, double dropout) const {
  return rows.for_each_span([&](size_t span) {
    const auto part = [&](const at::Tensor& all) { return rows.rows_of(span, all); };
    return attend_span(*rows.spans()[span].state, layer, part(queries), part(keys), part(values), dropout);
  });
}

// queries: B,T,heads,d   keys, values: B,T,kv heads,d -> B,T,heads * d
at::Tensor CachedModel::attend_span(BaseState& state, int64_t layer, const at::Tensor& queries, const at::Tensor& keys,
                                    const at::Tensor& values, double dropout) const {
  const int64_t count = keys.size(1), cached = state.layer_tokens[static_cast<size_t>(layer)];
  const auto type = state.context.has_bf16_cache ? at::kBFloat16 : keys.scalar_type();
  const auto rounded = [&](const at::Tensor& x) { return x.to(type).to(keys.scalar_type()); };  // as it will be kept
  const auto added_keys = rounded(keys).transpose(1, 2),
             added_values = rounded(values).transpose(1, 2);  // B,kv heads,T,d
  const auto extend = [&](at::Tensor& cache, const at::Tensor& added) {
    const at::NoGradGuard no_grad;
    make_room(cache, cached, count, keys, type);
    cache.narrow(2, cached, count).copy_(added);
    return cache.narrow(2, 0, cached + count);
  };
  const auto all_keys = extend(state.cache[static_cast<size_t>(2 * layer)], added_keys);
  const auto all_values = extend(state.cache[static_cast<size_t>(2 * layer + 1)], added_values);
  return cached_attention(queries.transpose(1, 2), {all_keys, all_values, added_keys, added_values},
                          state.tokens_read - cached, visible_keys(state.context, layer), dropout);
}

}  // namespace fwl
