#include "sessions/running_job.h"

#include <algorithm>
#include <random>

#include "engine/torch.h"
#include "generate/recent_tokens.h"
#include "support/error.h"

namespace fwl {
namespace {

SessionPlace place_of(const StoredSession& stored) {
  SessionPlace place{stored.session.tokens_read() == 0, std::nullopt, stored.notes};
  if (!stored.session.sampler.recent.empty())
    place.last_token = static_cast<TokenId>(stored.session.sampler.recent.back());
  return place;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

RunningJob::RunningJob(Job job, const LanguageModel& model, StoredSession stored)
    : job_(std::move(job)),
      model_(model),
      stored_(std::move(stored)),
      prompt_(job_.request.make_prompt(place_of(stored_))) {
  auto& session = stored_.session;
  const auto& request = job_.request;
  if (prompt_.starts_new_context) model_.forget_context(session);
  if (request.wants_slow && model_.blocks()) without_blocks_ = session.clone();
  result_.kept_tokens = session.tokens_read();
  result_.prompt.total = static_cast<int64_t>(prompt_.tokens.size());
  if (prompt_.tokens.empty() && request.generation.max_tokens > 0 && !session.last_hidden.defined())
    fail("prompt", "a text to continue", "nothing", "the vocabulary has no begin or end token to start from");
  if (request.seed) {
    session.sampler.seed = *request.seed;
    session.sampler.draws = 0;
  } else if (session.tokens_read() == 0) {
    session.sampler.seed = static_cast<int64_t>(std::random_device{}());
  }
  guard_.emplace(model_, session);
  if (!is_reading()) begin_generation();
}

double RunningJob::seconds() const {
  return seconds_since(begin_);
}

void RunningJob::read_chunk(int64_t tokens) {
  const std::span<const TokenId> all(prompt_.tokens);
  const auto part = all.subspan(next_, std::min(static_cast<size_t>(tokens), all.size() - next_));
  if (job_.request.scores_prompt)
    read_scored(part);
  else
    read_plainly(part);
  for (const auto token : part) remember(stored_.session.sampler, token);
  next_ += part.size();
  if (!is_reading()) begin_generation();
}

bool RunningJob::has_diverged(double loss_sum, int64_t tokens) {
  const bool diverged = job_.request.reading == Adaptation::write && guard_->check(loss_sum, tokens);
  result_.prompt.rollbacks += diverged;
  return diverged;
}

void RunningJob::read_plainly(std::span<const TokenId> part) {
  const std::vector<int64_t> ids(part.begin(), part.end());
  const auto& request = job_.request;
  const auto rows = at::tensor(ids, at::kLong).unsqueeze(0);  // 1,T
  auto losses = model_.read(rows, stored_.session,
                            {.adaptation = request.reading, .wants_slow_loss = request.wants_slow && !without_blocks_});
  if (without_blocks_) losses.slow = model_.read(rows, *without_blocks_, {Adaptation::off}).adapted;
  const auto loss_sum = losses.adapted.sum(at::kDouble).item<double>();
  if (has_diverged(loss_sum, losses.adapted.numel()) && model_.blocks())
    model_.read(rows, stored_.session, {Adaptation::read});  // the context is gone
  auto& progress = result_.prompt;
  progress.read += static_cast<int64_t>(part.size());
  progress.scored += losses.adapted.numel();
  progress.loss_sum += loss_sum;
  if (request.wants_slow)
    progress.slow_loss_sum = progress.slow_loss_sum.value_or(0) +
                             (losses.slow.defined() ? losses.slow : losses.adapted).sum(at::kDouble).item<double>();
  job_.listener->on_prompt(progress, {});
}

void RunningJob::read_scored(std::span<const TokenId> part) {
  const auto& request = job_.request;
  if (!scorer_)
    scorer_ = std::make_unique<PromptScorer>(model_, stored_.session, request.reading, request.top_logprobs,
                                             request.wants_slow && !without_blocks_);
  auto tokens = scorer_->read(part);
  if (without_blocks_) {
    const auto slow = PromptScorer(model_, *without_blocks_, Adaptation::off, 0, false).read(part);
    for (size_t index = 0; index < tokens.size(); ++index) tokens[index].slow_logprob = slow[index].logprob;
  }
  auto& progress = result_.prompt;
  const int64_t scored_before = progress.scored;
  double loss_sum = 0;
  progress.read += static_cast<int64_t>(part.size());
  for (const auto& token : tokens) {
    if (!token.logprob) continue;
    ++progress.scored;
    loss_sum -= *token.logprob;
    if (token.slow_logprob) progress.slow_loss_sum = progress.slow_loss_sum.value_or(0) - *token.slow_logprob;
  }
  progress.loss_sum += loss_sum;
  if (has_diverged(loss_sum, progress.scored - scored_before)) {
    scorer_.reset();  // with what it has learned
    if (model_.blocks()) PromptScorer(model_, stored_.session, Adaptation::read, 0, false).read(part);
  }
  job_.listener->on_prompt(progress, tokens);
}

void RunningJob::begin_generation() {
  if (scorer_) scorer_->finish();
  scorer_.reset();
  result_.prompt_seconds = seconds();
  generation_begin_ = std::chrono::steady_clock::now();
  const auto& request = job_.request;
  if (request.generation.max_tokens == 0) {
    is_finished_ = true;
    return;
  }
  stepper_ = std::make_unique<TokenStepper>(model_, stored_.session, request.generating);
  stream_.emplace(*model_.tokenizer(), stored_.session.sampler.recent, request.generation.stops);
}

TokenId RunningJob::choose(const at::Tensor& logits) {
  const auto& request = job_.request;
  auto changed = logits;
  if (!request.logit_bias.empty()) changed = logits.clone();
  for (const auto& [token, bias] : request.logit_bias) changed[token] += bias;
  const Sampler sampler(request.generation.sampler);
  // Published matrices may have more rows than the vocabulary has tokens.
  const auto choices = static_cast<size_t>(std::min(changed.numel(), model_.tokenizer()->vocabulary_size()));
  return static_cast<TokenId>(sampler.choose({changed.const_data_ptr<float>(), choices}, stored_.session.sampler));
}

std::optional<TokenStepper::Step> RunningJob::sample(const at::Tensor& next_logits) {
  const auto& request = job_.request;
  auto& session = stored_.session;
  const auto logits = next_logits[0].to(at::kCPU, at::kFloat).contiguous();  // V
  const auto token = choose(logits);
  ScoredToken event{.token = token, .logprob = {}, .slow_logprob = {}};
  if (request.top_logprobs >= 0) event = scored(logits, token, request.top_logprobs);
  if (request.wants_slow) {
    const auto& slow = without_blocks_ ? *without_blocks_ : session;
    event.slow_logprob = scored(model_.next_logits(slow, Adaptation::off)[0], token, 0).logprob;
  }
  remember(session.sampler, token);
  ++result_.generated;
  const bool is_end = !request.generation.ignore_end && model_.tokenizer()->ends_answer(token);
  const auto text = is_end ? std::string() : stream_->push(token);
  text_ += text;
  job_.listener->on_token(event, text);
  if (is_end)
    end_generation(StopReason::end_token);
  else if (stream_->is_stopped())
    end_generation(StopReason::stop_text);
  else if (result_.generated >= request.generation.max_tokens)
    end_generation(StopReason::max_tokens);
  if (without_blocks_ && !is_finished_)
    model_.advance(at::full({1}, token, at::kLong), *without_blocks_, Adaptation::off);
  if (is_finished_ && request.session.id.empty()) return std::nullopt;  // nobody will read on
  return TokenStepper::Step{stepper_.get(), token};
}

void RunningJob::end_generation(StopReason reason) {
  is_finished_ = true;
  result_.stop_reason = reason;
  const auto rest = stream_->finish();
  text_ += rest;
  if (!rest.empty()) job_.listener->on_rest(rest);
}

StoredSession RunningJob::finish() {
  if (stepper_) stepper_->finish();
  if (job_.request.notes_after) stored_.notes = job_.request.notes_after(stored_.notes, text_);
  result_.generation_seconds = seconds_since(generation_begin_);
  return std::move(stored_);
}

}  // namespace fwl
