#include "base/cached_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/reading_window.h"
#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {}  // namespace

BaseState CachedModel::trimmed(const BaseState& state) const {
  auto copy = state.clone();
  for (auto& cache : copy.cache)
    if (cache.defined()) cache = cache.narrow(2, 0, state.cached_tokens).contiguous();
  return copy;
}

std::vector<std::vector<int64_t>> CachedModel::cache_shapes(const BaseState& state) const {
  if (state.cached_tokens == 0) return {};
  return std::vector<std::vector<int64_t>>(static_cast<size_t>(2 * layers_),
                                           {state.sequences, key_heads_, state.cached_tokens, head_width_});
}

double CachedModel::attention_flops(int64_t segment_tokens) const {
  const auto visible = visible_keys(default_context());
  double keys = 0;  // that a position sees, on average
  for (int64_t position = 0; position < segment_tokens; ++position)
    keys += static_cast<double>(position + 1 - visible.first(position));
  keys /= static_cast<double>(std::max<int64_t>(1, segment_tokens));
  return 4 * keys * static_cast<double>(layers_ * heads_ * head_width_);
}

void CachedModel::check_context(const ContextOptions& context) const {
  if (context.context_tokens < 0) fail("context", "a number of tokens", std::to_string(context.context_tokens));
  if (context.memory_tokens != 0 || context.clamp_tokens != 0 || context.is_same_length)
    fail("memory of a " + architecture() + " model", "a Transformer-XL", "another architecture");
}

VisibleKeys CachedModel::visible_keys(const ContextOptions& context) const {
  return context.long_text == LongText::slide && context.context_tokens > 0
             ? VisibleKeys::sliding(context.context_tokens)
             : VisibleKeys::all();
}

at::Tensor CachedModel::read_checked(const at::Tensor& tokens, BaseState& state, const BaseCall& call) const {
  const auto& context = state.context;
  const bool is_bounded = context.context_tokens > 0 && context.long_text != LongText::slide;
  const int64_t total = tokens.size(1);
  if (is_bounded && context.long_text == LongText::refuse && state.tokens_read + total > context.context_tokens)
    fail(architecture() + " model", fmt::format("at most {} tokens of context", context.context_tokens),
         std::to_string(state.tokens_read + total), "read long texts with a window that slides or restarts");
  const int64_t most = at::GradMode::is_enabled() ? total : reading_window_tokens;  // what is cut off gets no gradient
  std::vector<at::Tensor> parts;
  for (int64_t start = 0; start < total;) {
    int64_t count = std::min(most, total - start);
    if (is_bounded) {
      if (state.tokens_read - state.window_start == context.context_tokens) restart_window(state, call);
      count = std::min(count, context.context_tokens - (state.tokens_read - state.window_start));
    }
    parts.push_back(run_and_count(tokens.narrow(1, start, count), state, call));
    start += count;
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts, 1);
}

void CachedModel::restart_window(BaseState& state, const BaseCall& call) const {
  const auto again = state.recent;
  state.cached_tokens = 0;
  state.tokens_read -= again.size(1);
  state.window_start = state.tokens_read;
  run_and_count(again, state, call);
}

at::Tensor CachedModel::run_and_count(const at::Tensor& tokens, BaseState& state, const BaseCall& call) const {
  const auto& context = state.context;
  state.cache.resize(static_cast<size_t>(2 * layers_));
  drop_unseen_keys(state, tokens.size(1));
  const auto hidden = run(tokens, state, call);
  state.tokens_read += tokens.size(1);
  state.cached_tokens += tokens.size(1);
  if (context.long_text == LongText::restart && context.context_tokens > 0) {
    const auto all = state.recent.defined() ? at::cat({state.recent, tokens}, 1) : tokens;
    const int64_t count = std::min(all.size(1), std::max<int64_t>(1, context.context_tokens / 2));
    state.recent = all.slice(1, all.size(1) - count).clone();
  }
  return hidden;
}

// Keys that no coming position sees go when room is short and they are many enough to be worth the move.
void CachedModel::drop_unseen_keys(BaseState& state, int64_t new_tokens) const {
  const int64_t cached = state.cached_tokens, first_position = state.tokens_read - cached;
  const int64_t unseen = std::min(cached, visible_keys(state.context).first(state.tokens_read) - first_position);
  const auto& first_cache = state.cache.front();
  if (!first_cache.defined() || cached + new_tokens <= first_cache.size(2) || 4 * unseen < cached) return;
  for (auto& cache : state.cache)
    cache.narrow(2, 0, cached - unseen).copy_(cache.narrow(2, unseen, cached - unseen).clone());
  state.cached_tokens -= unseen;
}

// Room for new_tokens after the kept ones. The cache grows by half its size, so that the cost of a token does not
// depend on how much was read.
void CachedModel::make_room(BaseState& state, int64_t new_tokens, at::Tensor& cache, const at::Tensor& like) const {
  const int64_t cached = state.cached_tokens, capacity = cache.defined() ? cache.size(2) : 0;
  if (cached + new_tokens <= capacity) return;
  const int64_t roomy = cached + new_tokens + std::max<int64_t>(64, (cached + new_tokens) / 2);
  auto larger = at::empty({like.size(0), like.size(2), roomy, like.size(3)}, like.options().requires_grad(false));
  if (cached > 0) larger.narrow(2, 0, cached).copy_(cache.narrow(2, 0, cached));
  cache = larger;
}

at::Tensor CachedModel::attend(BaseState& state, int64_t layer, const at::Tensor& queries, const at::Tensor& keys,
                               const at::Tensor& values, double dropout) const {
  const int64_t count = keys.size(1), cached = state.cached_tokens, first_position = state.tokens_read - cached;
  const auto extend = [&](at::Tensor& cache, const at::Tensor& latest) {
    const auto added = latest.transpose(1, 2);  // B,key heads,T,d
    const bool wants_gradient = at::GradMode::is_enabled() && latest.requires_grad();
    at::Tensor all;
    if (wants_gradient) all = cached > 0 ? at::cat({cache.narrow(2, 0, cached), added}, 2) : added;
    const at::NoGradGuard no_grad;
    make_room(state, count, cache, latest);
    cache.narrow(2, cached, count).copy_(added);
    return wants_gradient ? all : cache.narrow(2, 0, cached + count);
  };
  const auto all_keys = extend(state.cache[static_cast<size_t>(2 * layer)], keys);
  const auto all_values = extend(state.cache[static_cast<size_t>(2 * layer + 1)], values);
  return causal_attention(queries.transpose(1, 2), all_keys, all_values, first_position, visible_keys(state.context),
                          dropout);
}

}  // namespace fwl
