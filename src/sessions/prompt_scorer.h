// Log-probabilities of tokens and of the most likely alternatives.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "memory/fast_memory.h"
#include "sessions/job.h"

namespace fwl {

// The token under logits (V): its log-probability, and the `top` most likely ones.
ScoredToken scored(const at::Tensor& logits, TokenId token, int64_t top);

// Reads a prompt as LanguageModel::read does, but gives the whole distribution at every position. The base reads in
// chunks; fast weights that learn go token by token.
class PromptScorer {
 public:
  PromptScorer(const LanguageModel& model, Session& session, Adaptation adaptation, int64_t top, bool wants_slow);

  std::vector<ScoredToken> read(std::span<const TokenId> tokens);
  void finish();  // writes what the fast weights have learned to the session

 private:
  at::Tensor logits_at(const at::Tensor& hidden, TokenId target);  // 1,D -> V; the fast weights then learn the target

  const LanguageModel& model_;
  Session& session_;
  Adaptation adaptation_;
  int64_t top_;
  bool wants_slow_;
  std::unique_ptr<MemoryCursor> cursor_;  // where a memory learns
};

}  // namespace fwl
