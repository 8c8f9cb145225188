// Few-shot learning: examples are read into the fast weights, into the context or both, and questions are answered with
// them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/language_model.h"

namespace fwl {

class Fields;

using TokenIds = std::vector<TokenId>;

struct Example {
  TokenIds prompt, answer;
};

struct Question {
  TokenIds prompt;                // at least one token
  std::vector<TokenIds> choices;  // each at least one token
};

struct FewShotOptions {
  TokenIds begin;                       // every text starts with it: a begin token, or nothing
  std::string examples_in = "weights";  // none, context, weights or both
  int64_t passes = 1;                   // over the examples, into the weights
  std::string learn_from = "all";       // the tokens that move the fast weights: all, or answers
  bool is_apart = false;                // into the weights each example is read alone, without those before it
  int64_t context_tokens = 0;           // that the model sees; 0: as many as it can
};

void add_fields(Fields& fields, FewShotOptions& options);

// Learns from examples once. Questions leave no trace: each is answered as if it were the first.
class FewShot {
 public:
  // The context holds the last examples that leave `reserved_tokens` for a question.
  FewShot(const LanguageModel& model, const std::vector<Example>& examples, const FewShotOptions& options,
          int64_t reserved_tokens);

  // The negative log-likelihood of each choice after the prompt, in nats.
  std::vector<double> nll(const Question& question);

  // The index of the most likely choice. A search of the choices' tokens, best first, reads only beginnings that can
  // still win, which is what makes hundreds of choices affordable.
  size_t most_likely(const Question& question);

  int64_t examples_in_context() const { return examples_in_context_; }
  int64_t rollbacks() const { return rollbacks_; }  // of fast weights that diverged while they learned

 private:
  using Use = std::function<void(const at::Tensor& hidden)>;  // 1,T,D

  void with_prompt(const TokenIds& prompt, const std::function<void()>& use);
  void learn(const std::vector<Example>& examples, const FewShotOptions& options);
  void fill_context(const std::vector<Example>& examples, int64_t reserved_tokens);
  // Reads tokens, uses their hidden states, and takes the tokens back.
  void with(std::span<const TokenId> tokens, const Use& use);
  at::Tensor log_likelihoods(const at::Tensor& last_hidden) const;  // 1,D -> V, of the next token

  const LanguageModel& model_;
  TokenIds begin_;
  Session session_;
  Adaptation adaptation_;
  int64_t examples_in_context_ = 0, rollbacks_ = 0;
};

}  // namespace fwl
