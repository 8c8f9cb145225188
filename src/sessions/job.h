// One piece of work for a session engine: read a prompt, then generate; and what its client hears of it.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generate/generator.h"
#include "sessions/session_files.h"

namespace fwl {

// Where a session stands when a job begins.
struct SessionPlace {
  bool is_fresh = true;  // has read nothing
  std::optional<TokenId> last_token = {};
  std::string notes = {};
};

struct Prompt {
  std::vector<TokenId> tokens;
  bool starts_new_context = false;  // the session forgets its context, but not what it has learned, before it reads
};

struct TokenLogprob {
  TokenId token = 0;
  double logprob = 0;
};

struct ScoredToken {
  TokenId token = 0;
  std::optional<double> logprob;       // none for the first token of a text
  std::optional<double> slow_logprob;  // with the fast weights off, if it was wanted
  std::vector<TokenLogprob> top = {};  // the most likely tokens in its place, most likely first
};

struct JobRequest {
  SessionKey session;  // empty id: a fresh session, which leaves nothing
  // The tokens to read, given the session's place at the time.
  std::function<Prompt(const SessionPlace&)> make_prompt;
  Adaptation reading = Adaptation::write, generating = Adaptation::read;
  GenerationOptions generation;
  std::optional<int64_t> seed;  // without one a session goes on with its own, and a fresh one draws one
  std::map<TokenId, double> logit_bias;
  int64_t top_logprobs = -1;   // alternatives per token; -1: no log-probabilities
  bool scores_prompt = false;  // log-probabilities of the prompt's tokens too
  bool wants_slow = false;     // also with the fast weights off
  // The session's notes after the job, given the generated text; without it they stay.
  std::function<std::string(const std::string& notes, const std::string& text)> notes_after;
};

// Sums in nats over the prompt's tokens that have a token before them.
struct PromptProgress {
  int64_t read = 0, total = 0;
  int64_t scored = 0;
  double loss_sum = 0;
  std::optional<double> slow_loss_sum;
  int64_t rollbacks = 0;  // of fast weights that had diverged (model/divergence_guard.h)
};

struct JobResult {
  PromptProgress prompt;
  int64_t kept_tokens = 0;  // of the session's context, that did not have to be read again
  int64_t generated = 0;
  StopReason stop_reason = StopReason::max_tokens;
  double prompt_seconds = 0, generation_seconds = 0;
};

// Called on the engine's thread, which waits meanwhile. One of the last two ends the job.
class JobListener {
 public:
  virtual ~JobListener() = default;
  virtual void on_prompt(const PromptProgress&, const std::vector<ScoredToken>& /*if scored*/) {}
  // `text` can lag behind the tokens: incomplete characters and possible stop texts are held back.
  virtual void on_token(const ScoredToken&, const std::string& text) = 0;
  virtual void on_rest(const std::string& text) = 0;  // what was held back at the end
  virtual void on_done(const JobResult&) = 0;         // a session's changes are durable
  virtual void on_error(std::exception_ptr) = 0;      // the session is as it was before the job
};

struct Job {
  JobRequest request;
  std::shared_ptr<JobListener> listener;
  std::shared_ptr<std::atomic<bool>> is_unwanted;  // the client hung up
};

}  // namespace fwl
