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

}  // namespace

BaseState CachedModel::trimmed(const BaseState& state) const {
  auto copy = state.clone();
  for (auto& cache : copy.cache)
    if (cache.defined()) cache = cache.narrow(2, 0, state.cached_tokens).contiguous();
  return copy;
}

std::vector<std::vector<int64_t>> CachedModel::cache_shapes(const BaseState& state) const {
  if (state.cached_tokens == 0) return {};
  return std::vector<std::vector<int64_t>>(static_cast<size_t>(2 * layers_),
                                           {state.sequences, kv_heads_, state.cached_tokens, head_size_});
}

double CachedModel::attention_flops(int64_t segment_tokens) const {
  const auto visible = visible_keys(default_context());
  double keys = 0;  // visible to a position, on average
  for (int64_t position = 0; position < segment_tokens; ++position)
    keys += static_cast<double>(position + 1 - visible.first(position));
  keys /= static_cast<double>(std::max<int64_t>(1, segment_tokens));
  return 4 * keys * static_cast<double>(layers_ * heads_ * head_size_);
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
  if (state.recent.defined()) state.recent = state.recent.slice(1, 0, state.recent.size(1) - tokens);
}

void CachedModel::check_context(const ContextOptions& context) const {
  if (context.context_tokens < 0 || context.context_tokens == 1)
    fail("context", "at least 2 tokens", std::to_string(context.context_tokens));
  if (context.memory_tokens != 0 || context.clamp_tokens != 0 || context.is_same_length)
    fail("memory of a " + architecture() + " model", "a transformer-xl model", "another architecture");
}

VisibleKeys CachedModel::visible_keys(const ContextOptions& context) const {
  return context.long_text == LongText::slide && context.context_tokens > 0
             ? VisibleKeys::sliding(context.context_tokens)
             : VisibleKeys::all();
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
    state.cache.resize(static_cast<size_t>(2 * layers_));
    drop_unseen_keys(state, parts.back().tokens.size(1));
  }
  const TokenRows rows(parts);
  const auto hidden = run(rows, call);  // N,D
  for (size_t index = 0; index < readings.size(); ++index) {
    const auto& [tokens, state] = parts[index];
    state->tokens_read += tokens.size(1);
    state->cached_tokens += tokens.size(1);
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

// Drops keys that no later position sees, if the cache is full and they are at least a quarter of it.
void CachedModel::drop_unseen_keys(BaseState& state, int64_t new_tokens) const {
  const int64_t cached = state.cached_tokens, first_position = state.tokens_read - cached;
  const int64_t first_readable = std::max<int64_t>(0, state.tokens_read - state.undo_tokens);
  const int64_t unseen = std::min(cached, visible_keys(state.context).first(first_readable) - first_position);
  const auto& first_cache = state.cache.front();
  if (!first_cache.defined() || cached + new_tokens <= first_cache.size(2) || 4 * unseen < cached) return;
  for (auto& cache : state.cache)
    cache.narrow(2, 0, cached - unseen).copy_(cache.narrow(2, unseen, cached - unseen).clone());
  state.cached_tokens -= unseen;
}

// Makes room for new_tokens after the cached ones. The cache grows by half its size, so that appending takes amortised
// constant time per token.
void CachedModel::make_room(const BaseState& state, int64_t new_tokens, at::Tensor& cache,
                            const at::Tensor& like) const {
  const int64_t cached = state.cached_tokens, capacity = cache.defined() ? cache.size(2) : 0;
  if (cached + new_tokens <= capacity) return;
  const int64_t roomy = cached + new_tokens + std::max<int64_t>(64, (cached + new_tokens) / 2);
  auto larger = at::empty({like.size(0), like.size(2), roomy, like.size(3)}, like.options().requires_grad(false));
  if (cached > 0) larger.narrow(2, 0, cached).copy_(cache.narrow(2, 0, cached));
  cache = larger;
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
  const int64_t count = keys.size(1), cached = state.cached_tokens, first_position = state.tokens_read - cached;
  const auto added_keys = keys.transpose(1, 2), added_values = values.transpose(1, 2);  // B,kv heads,T,d
  const auto extend = [&](at::Tensor& cache, const at::Tensor& added) {
    const at::NoGradGuard no_grad;
    make_room(state, count, cache, keys);
    cache.narrow(2, cached, count).copy_(added);
    return cache.narrow(2, 0, cached + count);
  };
  const auto all_keys = extend(state.cache[static_cast<size_t>(2 * layer)], added_keys);
  const auto all_values = extend(state.cache[static_cast<size_t>(2 * layer + 1)], added_values);
  return cached_attention(queries.transpose(1, 2), {all_keys, all_values, added_keys, added_values}, first_position,
                          visible_keys(state.context), dropout);
}

}  // namespace fwl
