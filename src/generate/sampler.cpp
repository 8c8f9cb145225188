#include "generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/error.h"
#include "support/mix_bits.h"

namespace fwl {
namespace {

using Candidates = std::vector<Sampler::Candidate>;

bool is_likelier(const Sampler::Candidate& a, const Sampler::Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

void set_probabilities(Candidates& all, double temperature) {
  double sum = 0;
  for (auto& one : all) sum += one.probability = std::exp((one.logit - all.front().logit) / temperature);
  for (auto& one : all) one.probability /= sum;
}

void keep_top_p(Candidates& all, double top_p) {
  double sum = 0;
  size_t kept = 0;
  while (kept < all.size() && (kept == 0 || sum < top_p)) sum += all[kept++].probability;
  all.resize(kept);
}

void keep_min_p(Candidates& all, double min_p) {
  const double least = min_p * all.front().probability;
  const auto past = std::ranges::find_if(all, [&](const auto& one) { return one.probability < least; });
  all.erase(std::max(past, all.begin() + 1), all.end());
}

// The likeliest tokens, likeliest first. The least likely of those kept is at the front of a heap, so that most tokens
// cost one comparison.
Candidates likeliest(std::span<const float> logits, size_t most) {
  Candidates kept;
  kept.reserve(most);
  for (size_t token = 0; token < logits.size(); ++token) {
    const float logit = logits[token];
    if (std::isnan(logit)) fail("generation", "finite logits", "NaN", "the model's weights diverged");
    const Sampler::Candidate one{static_cast<int64_t>(token), logit, 0};
    if (kept.size() < most) {
      kept.push_back(one);
      std::ranges::push_heap(kept, is_likelier);
    } else if (is_likelier(one, kept.front())) {
      std::ranges::pop_heap(kept, is_likelier);
      kept.back() = one;
      std::ranges::push_heap(kept, is_likelier);
    }
  }
  std::ranges::sort_heap(kept, is_likelier);
  return kept;
}

}  // namespace

void add_fields(Fields& fields, SamplerOptions& options) {
  fields.add("temperature", options.temperature, "sampling temperature; 0: always the most likely token")
      .range(0, 100)
      .alias("temp");
  fields.add("top_k", options.top_k, "sample from this many most likely tokens; 0: all").range(0, 1 << 30);
  fields.add("top_p", options.top_p, "sample from the most likely tokens with this total probability; 1: all")
      .range(0, 1);
  fields.add("min_p", options.min_p, "drop tokens below this share of the highest probability; 0: none").range(0, 1);
  fields.add("repeat_penalty", options.repeat_penalty, "penalty on the logits of recent tokens; 1: none")
      .range(0.01, 100);
  fields.add("repeat_last", options.repeat_last, "number of tokens that count as recent")
      .range(0, recent_tokens)
      .alias("repeat_last_n");
}

double uniform_draw(int64_t seed, int64_t draws) {
  const auto bits = mix_bits(mix_bits(static_cast<uint64_t>(seed)) ^ static_cast<uint64_t>(draws));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

std::vector<float> Sampler::penalized(std::span<const float> logits, std::span<const int64_t> recent) const {
  std::vector<float> result(logits.begin(), logits.end());
  if (options_.repeat_penalty == 1) return result;
  const auto looked_back = std::min(recent.size(), static_cast<size_t>(options_.repeat_last));
  for (const auto token : recent.last(looked_back)) {
    const float given = logits[static_cast<size_t>(token)];
    const auto penalty = static_cast<float>(options_.repeat_penalty);
    result[static_cast<size_t>(token)] = given > 0 ? given / penalty : given * penalty;
  }
  return result;
}

std::vector<Sampler::Candidate> Sampler::candidates(std::span<const float> logits,
                                                    std::span<const int64_t> recent) const {
  const auto changed = penalized(logits, recent);
  const auto most = static_cast<size_t>(options_.top_k);
  const size_t kept = options_.temperature == 0 ? 1 : most == 0 ? changed.size() : std::min(most, changed.size());
  auto all = likeliest(changed, kept);
  set_probabilities(all, 1);
  if (kept == 1) return all;
  keep_top_p(all, options_.top_p);
  keep_min_p(all, options_.min_p);
  set_probabilities(all, options_.temperature);
  return all;
}

int64_t Sampler::choose(std::span<const float> logits, SamplerState& state) const {
  const auto all = candidates(logits, state.recent);
  if (options_.temperature == 0) return all.front().token;
  double left = uniform_draw(state.seed, state.draws++);
  for (const auto& one : all)
    if ((left -= one.probability) < 0) return one.token;
  return all.back().token;
}

}  // namespace fwl
