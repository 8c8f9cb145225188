// Many sessions over one model: a queue of jobs, of which several advance together in one pass of the base.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <variant>

#include "engine/products.h"
#include "sessions/running_job.h"
#include "sessions/session_shelf.h"

namespace fwl {

struct EngineOptions {
  int64_t batch = 16;            // jobs that advance together
  int64_t queue = 256;           // jobs that wait
  int64_t prefill_tokens = 128;  // of one prompt between two steps of the generation
  double job_seconds = 600;      // limit for one job, once it runs
};

void add_fields(Fields& fields, EngineOptions& options);

// Work on sessions that is not a job, e.g. forking one; it runs between steps, while no job uses these sessions.
struct SessionTask {
  std::vector<SessionKey> keys;
  std::function<void(SessionShelf&)> action;
  std::function<void(std::exception_ptr)> on_error;
};

// For monitoring.
struct EngineFacts {
  struct Slot {
    std::string owner, session;
    bool is_reading = false;
    int64_t prompt_tokens = 0, prompt_read = 0, generated = 0;
    double seconds = 0;
  };
  std::vector<Slot> running;
  int64_t waiting = 0;
  int64_t jobs_done = 0, jobs_failed = 0, jobs_refused = 0;
  int64_t prompt_tokens = 0, generated_tokens = 0;
  double prompt_seconds = 0, generation_seconds = 0;  // of the engine's thread
  int64_t steps = 0;                                  // passes that generated tokens
  int64_t sessions_in_memory = 0, session_bytes = 0;
};

// The same job gives the same bits whatever else runs: a prompt is read in chunks of a fixed size on its own, and
// generated tokens share passes that keep the rows of sessions independent (model/token_stepper.h).
class SessionEngine {
 public:
  // The model must outlive the engine.
  SessionEngine(const LanguageModel& model, SessionShelf shelf, EngineOptions options);
  ~SessionEngine();

  void stop();  // jobs that have not ended fail, later ones are refused, and no listener is called any more

  void submit(Job job) { enqueue(std::move(job)); }            // throws QueueFull
  void submit(SessionTask task) { enqueue(std::move(task)); }  // throws QueueFull
  EngineFacts facts() const;
  const EngineOptions& options() const { return options_; }
  const SessionFiles& files() const { return shelf_.files(); }

 private:
  using Work = std::variant<Job, SessionTask>;
  struct Running {
    std::optional<TakenSession> taken;  // its stored session is with the job
    std::unique_ptr<RunningJob> job;
  };

  void enqueue(Work work);
  void run();
  bool wait_for_work();
  std::vector<Work> admissible();
  bool is_in_use(const SessionKey& key) const;
  void start(Job job);
  void start(SessionTask task);
  void stop_unwanted();
  void generate_step();
  void read_step();
  void complete_finished();
  void complete(Running& running);
  void fail(Running& running, std::exception_ptr error);
  void fail_all(const std::exception_ptr& error);
  void publish_facts();

  const LanguageModel& model_;
  SessionShelf shelf_;
  EngineOptions options_;
  ProductPrecision precision_ = product_precision();
  std::vector<Running> running_;
  size_t next_reader_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable arrival_;
  std::deque<Work> waiting_;
  bool is_stopping_ = false;
  EngineFacts facts_;
  std::thread thread_;
};

}  // namespace fwl
