// Reads and generates text with one session. Sampled tokens are read like any others, so fast weights can learn them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generate/sampler.h"
#include "model/language_model.h"
#include "support/progress.h"

namespace fwl {

struct GenerationOptions {
  SamplerOptions sampler;
  Adaptation adaptation = Adaptation::write;
  int64_t max_tokens = 128;
  std::vector<std::string> stops;
  bool ignore_end = false;  // continue past the vocabulary's end token
};

void add_fields(Fields& fields, GenerationOptions& options);

enum class StopReason { end_token, stop_text, max_tokens };

struct Generation {
  std::vector<int64_t> tokens;
  std::string text;  // without the end token and stop texts
  StopReason stop_reason = StopReason::max_tokens;
  double seconds = 0;
  bool has_diverged = false;  // the fast weights, while they learned the text: they are as they were before it
};

// Sum of the losses in nats, over the tokens that have a token before them.
struct ReadingLoss {
  double sum = 0;
  int64_t tokens = 0;
  int64_t read_tokens = 0;  // including the first token of a text, which is not predicted
  double seconds = 0;
  int64_t rollbacks = 0;  // of fast weights that had diverged (model/divergence_guard.h)
};

class Generator {
 public:
  Generator(const LanguageModel& model, Session& session) : model_(model), session_(session) {}

  // Reads in chunks; the session ends up as if the tokens were read one by one.
  ReadingLoss read(std::span<const TokenId> tokens, Adaptation adaptation, const ProgressReport& progress = {});

  // Continues the text. When this returns, the session has read every generated token.
  Generation generate(const GenerationOptions& options, const std::function<void(std::string_view)>& on_text = {});

 private:
  void generate_tokens(const GenerationOptions& options, const std::function<void(std::string_view)>& on_text,
                       Generation& generation);
  void remember(int64_t token);

  const LanguageModel& model_;
  Session& session_;
};

}  // namespace fwl
