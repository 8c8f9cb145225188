#include "sessions/session_engine.h"

#include <algorithm>
#include <set>

#include "engine/torch.h"
#include "sessions/session_errors.h"
#include "support/fields.h"
#include "support/measure.h"

namespace fwl {
namespace {

std::vector<SessionKey> keys_of(const std::variant<Job, SessionTask>& work) {
  if (const auto* task = std::get_if<SessionTask>(&work)) return task->keys;
  const auto& key = std::get<Job>(work).request.session;
  return key.id.empty() ? std::vector<SessionKey>{} : std::vector{key};
}

void refuse(std::variant<Job, SessionTask>& work, const std::exception_ptr& error) {
  if (auto* job = std::get_if<Job>(&work))
    job->listener->on_error(error);
  else
    std::get<SessionTask>(work).on_error(error);
}

std::exception_ptr stopped(const std::string& expected, const std::string& got) {
  return std::make_exception_ptr(JobStopped(error_line("request", expected, got)));
}

}  // namespace

void add_fields(Fields& fields, EngineOptions& options) {
  fields.add("batch", options.batch, "requests that advance together in one pass").range(1, 1024).alias("parallel");
  fields.add("queue", options.queue, "requests that may wait; more are answered with 429").range(0, 1e6);
  fields.add("prefill_tokens", options.prefill_tokens, "tokens of a prompt that are read between two generated tokens")
      .range(1, 1 << 20);
  fields.add("max_seconds", options.job_seconds, "time limit of a request, once it runs").range(0.1, 1e9);
}

SessionEngine::SessionEngine(const LanguageModel& model, SessionShelf shelf, EngineOptions options)
    : model_(model), shelf_(std::move(shelf)), options_(options), thread_([this] { run(); }) {}

SessionEngine::~SessionEngine() {
  stop();
}

void SessionEngine::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  arrival_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SessionEngine::enqueue(Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) throw QueueFull(error_line("server", "one that takes requests", "one that stops"));
    const auto unstarted = static_cast<int64_t>(waiting_.size());
    const int64_t free = options_.batch - static_cast<int64_t>(facts_.running.size());
    if (unstarted >= options_.queue + std::max<int64_t>(free, 0)) {
      ++facts_.jobs_refused;
      throw QueueFull(error_line("server", "a free place in the queue", std::to_string(unstarted) + " waiting requests",
                                 "ask again later"));
    }
    waiting_.push_back(std::move(work));
  }
  arrival_.notify_one();
}

EngineFacts SessionEngine::facts() const {
  const std::lock_guard lock(mutex_);
  auto facts = facts_;
  facts.waiting = static_cast<int64_t>(waiting_.size());
  return facts;
}

void SessionEngine::run() {
  const at::NoGradGuard no_grad;
  const PrecisionScope precision(precision_);
  while (wait_for_work()) {
    try {
      for (auto& work : admissible()) std::visit([this](auto& one) { start(std::move(one)); }, work);
      stop_unwanted();
      generate_step();
      read_step();
    } catch (...) {  // no session of the pass can be trusted
      fail_all(std::current_exception());
    }
    publish_facts();
  }
  const auto error = stopped("a server that goes on", "one that stops");
  fail_all(error);
  const std::lock_guard lock(mutex_);
  for (auto& work : waiting_) refuse(work, error);
}

bool SessionEngine::wait_for_work() {
  std::unique_lock lock(mutex_);
  arrival_.wait(lock, [this] { return is_stopping_ || !waiting_.empty() || !running_.empty(); });
  return !is_stopping_;
}

bool SessionEngine::is_in_use(const SessionKey& key) const {
  return std::ranges::any_of(running_, [&](const Running& one) { return one.taken && one.taken->key == key; });
}

// In the order of arrival; work for a session waits for earlier work for the same one.
std::vector<SessionEngine::Work> SessionEngine::admissible() {
  const std::lock_guard lock(mutex_);
  std::vector<Work> chosen;
  std::deque<Work> left;
  std::set<SessionKey> blocked;
  int64_t jobs = static_cast<int64_t>(running_.size());
  for (auto& work : waiting_) {
    const auto keys = keys_of(work);
    const bool is_free =
        std::ranges::none_of(keys, [&](const SessionKey& key) { return blocked.contains(key) || is_in_use(key); });
    const bool is_job = std::holds_alternative<Job>(work);
    blocked.insert(keys.begin(), keys.end());
    if (is_free && (!is_job || jobs < options_.batch)) {
      jobs += is_job ? 1 : 0;
      chosen.push_back(std::move(work));
    } else {
      left.push_back(std::move(work));
    }
  }
  waiting_ = std::move(left);
  return chosen;
}

void SessionEngine::start(Job job) {
  const auto listener = job.listener;
  try {
    Running running;
    StoredSession stored;
    if (*job.is_unwanted) throw JobStopped(error_line("request", "a client that waits", "one that hung up"));
    if (job.request.session.id.empty()) {
      stored.session = shelf_.new_session();
    } else {
      running.taken = shelf_.take(job.request.session, true);
      stored = std::move(running.taken->stored);
    }
    running.job = std::make_unique<RunningJob>(std::move(job), model_, std::move(stored));
    running_.push_back(std::move(running));
  } catch (...) {
    listener->on_error(std::current_exception());
    const std::lock_guard lock(mutex_);
    ++facts_.jobs_failed;
  }
}

void SessionEngine::start(SessionTask task) {
  try {
    task.action(shelf_);
  } catch (...) {
    task.on_error(std::current_exception());
  }
}

void SessionEngine::stop_unwanted() {
  for (auto& running : running_) {
    try {
      if (*running.job->job().is_unwanted)
        fail(running, stopped("a client that waits", "one that hung up"));
      else if (running.job->seconds() > options_.job_seconds)
        fail(running, stopped("an answer within the time limit", "a longer one"));
    } catch (...) {
      fail(running, std::current_exception());
    }
  }
  std::erase_if(running_, [](const Running& running) { return !running.job; });
}

void SessionEngine::generate_step() {
  std::vector<TokenStepper::Step> steps;
  int64_t tokens = 0;
  const double seconds = seconds_of([&] {
    std::vector<Running*> generating;
    std::vector<TokenStepper*> steppers;
    for (auto& running : running_) {
      if (!running.job->is_generating()) continue;
      generating.push_back(&running);
      steppers.push_back(running.job->stepper());
    }
    const auto logits = TokenStepper::next_logits(steppers);
    for (size_t index = 0; index < generating.size(); ++index) {
      try {
        if (const auto step = generating[index]->job->sample(logits[index])) steps.push_back(*step);
        ++tokens;
      } catch (...) {
        fail(*generating[index], std::current_exception());
      }
    }
    std::erase_if(running_, [](const Running& running) { return !running.job; });
    TokenStepper::read(steps);
  });
  complete_finished();
  if (tokens == 0) return;
  const std::lock_guard lock(mutex_);
  ++facts_.steps;
  facts_.generated_tokens += tokens;
  facts_.generation_seconds += seconds;
}

void SessionEngine::read_step() {
  for (size_t looked_at = 0; looked_at < running_.size(); ++looked_at) {
    auto& running = running_[next_reader_++ % running_.size()];
    if (!running.job->is_reading()) continue;
    const auto before = running.job->result().prompt.read;
    int64_t tokens = 0;
    const double seconds = seconds_of([&] {
      try {
        running.job->read_chunk(options_.prefill_tokens);
        tokens = running.job->result().prompt.read - before;
      } catch (...) {
        fail(running, std::current_exception());
      }
    });
    {
      const std::lock_guard lock(mutex_);
      facts_.prompt_tokens += tokens;
      facts_.prompt_seconds += seconds;
    }
    break;
  }
  std::erase_if(running_, [](const Running& running) { return !running.job; });
  complete_finished();
}

void SessionEngine::complete_finished() {
  for (auto& running : running_) {
    if (!running.job->is_finished()) continue;
    try {
      complete(running);
    } catch (...) {
      fail(running, std::current_exception());
    }
  }
  std::erase_if(running_, [](const Running& running) { return !running.job; });
}

void SessionEngine::complete(Running& running) {
  auto stored = running.job->finish();
  if (running.taken) {
    running.taken->stored = std::move(stored);
    shelf_.save(*running.taken);
    shelf_.put_back(std::move(*running.taken));
    running.taken.reset();
  }
  {
    const std::lock_guard lock(mutex_);
    ++facts_.jobs_done;
  }
  running.job->job().listener->on_done(running.job->result());
  running.job.reset();
}

void SessionEngine::fail(Running& running, std::exception_ptr error) {
  const auto listener = running.job->job().listener;
  running.job.reset();
  running.taken.reset();  // the next job loads it as it was
  listener->on_error(std::move(error));
  const std::lock_guard lock(mutex_);
  ++facts_.jobs_failed;
}

void SessionEngine::fail_all(const std::exception_ptr& error) {
  for (auto& running : running_)
    if (running.job) fail(running, error);
  running_.clear();
}

void SessionEngine::publish_facts() {
  std::vector<EngineFacts::Slot> slots;
  for (const auto& running : running_) {
    const auto& result = running.job->result();
    const auto& key = running.job->job().request.session;
    slots.push_back({key.owner, key.id, running.job->is_reading(), result.prompt.total, result.prompt.read,
                     result.generated, running.job->seconds()});
  }
  const auto bytes = shelf_.bytes();
  const std::lock_guard lock(mutex_);
  facts_.running = std::move(slots);
  facts_.sessions_in_memory = shelf_.sessions();
  facts_.session_bytes = bytes;
}

}  // namespace fwl
