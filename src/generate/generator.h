// Reads and generates text with one session: a sampled token is read like any other, so that fast weights can learn it.
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
  bool ignore_end = false;  // goes on after the vocabulary's end token
};

enum class StopReason { end_token, stop_text, max_tokens };

struct Generation {
  std::vector<int64_t> tokens;
  std::string text;  // without the end token and stop texts
  StopReason stop_reason = StopReason::max_tokens;
  double seconds = 0;
};

// The loss of what was read, in nats over the tokens that had something before them.
struct ReadingLoss {
  double sum = 0;
  int64_t tokens = 0;
  int64_t read_tokens = 0;  // with the first one of a text, which nothing predicts
  double seconds = 0;
};

class Generator {
 public:
  Generator(const LanguageModel& model, Session& session) : model_(model), session_(session) {}

  // In the chunked form; leaves the same session as token by token.
  ReadingLoss read(std::span<const TokenId> tokens, Adaptation adaptation, const ProgressReport& progress = {});

  // Continues the text. Every generated token has also been read when this returns.
  Generation generate(const GenerationOptions& options, const std::function<void(std::string_view)>& on_text = {});

 private:
  void generate_tokens(const GenerationOptions& options, const std::function<void(std::string_view)>& on_text,
                       Generation& generation);
  void remember(int64_t token);

  const LanguageModel& model_;
  Session& session_;
};

}  // namespace fwl
