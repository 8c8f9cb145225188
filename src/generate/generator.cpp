#include "generate/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/device.h"
#include "engine/torch.h"
#include "generate/recent_tokens.h"
#include "generate/text_stream.h"
#include "model/divergence_guard.h"
#include "model/token_stepper.h"
#include "support/fields.h"
#include "support/interrupt.h"

namespace fwl {
namespace {

// Tokens per call: few enough that an interrupt waits less than a second on a small model, because a session must not
// be left in the middle of a pass.
constexpr int64_t reading_tokens = 128;

// Runs an action at the end of the scope, also after an exception.
class WhenDone {
 public:
  explicit WhenDone(std::function<void()> action) : action_(std::move(action)) {}
  ~WhenDone() { action_(); }
  WhenDone(const WhenDone&) = delete;
  WhenDone& operator=(const WhenDone&) = delete;

 private:
  std::function<void()> action_;
};

}  // namespace

void add_fields(Fields& fields, GenerationOptions& options) {
  fields.add("max_tokens", options.max_tokens, "maximum number of tokens to generate")
      .range(0, 1e12)
      .short_name("n")
      .alias("n_predict");
  add_fields(fields, options.sampler);
  fields.add("stop", options.stops, "stop before any of these texts");
}

void Generator::remember(int64_t token) {
  fwl::remember(session_.sampler, token);
}

ReadingLoss Generator::read(std::span<const TokenId> tokens, Adaptation adaptation, const ProgressReport& progress) {
  const at::NoGradGuard no_grad;
  ReadingLoss loss;
  DivergenceGuard guard(model_, session_);
  const auto total = static_cast<int64_t>(tokens.size());
  loss.seconds = seconds_on(model_.device(), [&] {
    for (int64_t start = 0; start < total; start += reading_tokens) {
      throw_if_interrupted();
      const auto part =
          tokens.subspan(static_cast<size_t>(start), static_cast<size_t>(std::min(reading_tokens, total - start)));
      const std::vector<int64_t> ids(part.begin(), part.end());
      const auto rows = at::tensor(ids, at::kLong).unsqueeze(0);  // 1,T
      const auto losses = model_.read(rows, session_, {adaptation}).adapted;
      const auto sum = losses.sum(at::kDouble).item<double>();
      if (adaptation == Adaptation::write && guard.check(sum, losses.numel())) {
        ++loss.rollbacks;
        if (model_.blocks()) model_.read(rows, session_, {Adaptation::read});  // the context is gone
      }
      loss.sum += sum;
      loss.tokens += losses.numel();
      loss.read_tokens += static_cast<int64_t>(ids.size());
      for (const auto token : ids) remember(token);
      if (progress)
        progress({start + static_cast<int64_t>(ids.size()), total, "tokens",
                  loss.tokens > 0
                      ? fmt::format("perplexity {:.3f}", std::exp(loss.sum / static_cast<double>(loss.tokens)))
                      : ""});
    }
  });
  return loss;
}

void Generator::generate_tokens(const GenerationOptions& options, const std::function<void(std::string_view)>& on_text,
                                Generation& generation) {
  const auto* tokenizer = model_.tokenizer();
  std::optional<TextStream> stream;
  if (tokenizer) stream.emplace(*tokenizer, session_.sampler.recent, options.stops);
  const auto show = [&](const std::string& text) {
    generation.text += text;
    if (on_text && !text.empty()) on_text(text);
  };
  const Sampler sampler(options.sampler);
  TokenStepper stepper(model_, session_, options.adaptation);
  const WhenDone whole_session([&] { stepper.finish(); });
  while (static_cast<int64_t>(generation.tokens.size()) < options.max_tokens) {
    throw_if_interrupted();
    const auto logits = stepper.next_logits().to(at::kCPU, at::kFloat).contiguous();  // 1,V
    generation.has_diverged = options.adaptation == Adaptation::write && !std::isfinite(logits.max().item<float>());
    if (generation.has_diverged) break;
    // Published matrices may have more rows than the vocabulary has tokens.
    const int64_t choices = tokenizer ? std::min(logits.numel(), tokenizer->vocabulary_size()) : logits.numel();
    const auto token = sampler.choose({logits.const_data_ptr<float>(), static_cast<size_t>(choices)}, session_.sampler);
    stepper.read(token);
    remember(token);
    generation.tokens.push_back(token);
    if (tokenizer && !options.ignore_end && tokenizer->ends_answer(static_cast<TokenId>(token))) {
      generation.stop_reason = StopReason::end_token;
      break;
    }
    if (stream) show(stream->push(static_cast<TokenId>(token)));
    if (stream && stream->is_stopped()) {
      generation.stop_reason = StopReason::stop_text;
      break;
    }
  }
  if (stream) show(stream->finish());
}

Generation Generator::generate(const GenerationOptions& options, const std::function<void(std::string_view)>& on_text) {
  const at::NoGradGuard no_grad;
  Generation generation;
  DivergenceGuard guard(model_, session_);
  if (options.max_tokens > 0)
    generation.seconds = seconds_on(model_.device(), [&] { generate_tokens(options, on_text, generation); });
  if (generation.has_diverged) guard.roll_back();
  return generation;
}

}  // namespace fwl
