// A job on its way: its session, how much of the prompt is read, and the generation.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "generate/text_stream.h"
#include "model/divergence_guard.h"
#include "model/token_stepper.h"
#include "sessions/job.h"
#include "sessions/prompt_scorer.h"

namespace fwl {

class RunningJob {
 public:
  // Makes the prompt; throws UserError if there is nothing to do.
  RunningJob(Job job, const LanguageModel& model, StoredSession stored);
  RunningJob(RunningJob&&) = delete;

  const Job& job() const { return job_; }
  const JobResult& result() const { return result_; }
  double seconds() const;  // since it began

  bool is_reading() const { return next_ < prompt_.tokens.size(); }
  bool is_generating() const { return !is_reading() && !is_finished_; }
  bool is_finished() const { return is_finished_; }

  void read_chunk(int64_t tokens);

  TokenStepper* stepper() { return stepper_.get(); }  // while it generates
  // Samples the next token from its logits (1,V) and tells the listener. Nothing if no token has to be read into the
  // session afterwards.
  std::optional<TokenStepper::Step> sample(const at::Tensor& next_logits);

  // After the last step: the session with everything that was read, and new notes.
  StoredSession finish();

 private:
  bool has_diverged(double loss_sum, int64_t tokens);
  void read_plainly(std::span<const TokenId> part);
  void read_scored(std::span<const TokenId> part);
  void begin_generation();
  void end_generation(StopReason reason);
  TokenId choose(const at::Tensor& logits);

  Job job_;
  const LanguageModel& model_;
  StoredSession stored_;
  // The base alone, where its blocks have memories and their effect is wanted: hidden states differ from the job's
  // first token on.
  std::optional<Session> without_blocks_;
  Prompt prompt_;
  size_t next_ = 0;                       // of the prompt
  std::optional<DivergenceGuard> guard_;  // of the prompt
  std::unique_ptr<PromptScorer> scorer_;
  std::unique_ptr<TokenStepper> stepper_;
  std::optional<TextStream> stream_;
  std::string text_;  // generated
  bool is_finished_ = false;
  JobResult result_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now(), generation_begin_;
};

}  // namespace fwl
