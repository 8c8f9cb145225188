// /sessions: list, show, create or fork, read, undo, decay, reset, save, export, import, delete.
#include <cmath>

#include "generate/session_tools.h"
#include "serve/api.h"
#include "serve/api_error.h"
#include "serve/completion_call.h"
#include "sessions/session_errors.h"
#include "support/error.h"

namespace fwl {
namespace {

using nlohmann::json;

// Runs on the engine's thread while no job uses the sessions; what it returns is the answer.
void answer_with(const ServedState& state, const ApiCall& call, std::vector<SessionKey> keys,
                 std::function<json(SessionShelf&)> action) {
  const auto exchange = call.exchange;
  for (const auto& key : keys) check_session_id(key.id);
  state.engine.submit(
      SessionTask{std::move(keys),
                  [exchange, action = std::move(action)](SessionShelf& shelf) {
                    exchange->answer({.body = json_text(action(shelf))});
                  },
                  [exchange](const std::exception_ptr& error) { exchange->answer(error_answer(error)); }});
}

json optional_body(const HttpRequest& request) {
  return request.body.empty() ? json::object() : request_json(request);
}

int64_t learned_tokens(const FastState& state) {
  return state.is_defined() ? state.tokens_read.front() : 0;
}

json facts_json(const ServedState& state, SessionShelf& shelf, const SessionKey& key) {
  auto taken = shelf.take(key, false);
  const auto& session = taken.stored.session;
  const auto stamp = shelf.files().stamp(key);
  const auto notes = json::parse(taken.stored.notes, nullptr, false);
  json facts = {{"id", key.id},
                {"object", "session"},
                {"tokens_read", session.tokens_read()},
                {"fast_tokens", std::max(learned_tokens(session.fast), learned_tokens(session.blocks.fast))},
                {"memory_bytes", session.bytes()},
                {"bytes", stamp ? stamp->bytes : 0},
                {"last_use", stamp ? static_cast<double>(stamp->modified) * 1e-9 : 0},
                {"messages", notes.is_discarded() ? json::array() : notes},
                {"drift", json::object()}};
  for (const auto& figure : state.model.model().drift(session)) facts["drift"][figure.weight] = figure.drift;
  shelf.put_back(std::move(taken));
  return facts;
}

void list_sessions(const ServedState& state, const ApiCall& call) {
  auto data = json::array();
  for (const auto& entry : state.engine.files().list(call.owner))
    data.push_back({{"id", entry.id}, {"object", "session"}, {"bytes", entry.bytes}, {"last_use", entry.last_change}});
  call.exchange->answer({.body = json_text({{"object", "list"}, {"data", data}})});
}

// A new session, or a fork of the one called "from".
void create_session(const ServedState& state, const ApiCall& call) {
  const auto body = optional_body(call.request);
  const auto text = [&](const char* name) {
    const auto value = body.value(name, json());
    if (!value.is_null() && !value.is_string())
      fail(std::string("\"") + name + "\"", "a session id", value.type_name());
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  const SessionKey key{call.owner, body.contains("id") ? text("id") : random_id("s-")}, from{call.owner, text("from")};
  const bool is_fork = !from.id.empty();
  answer_with(state, call, is_fork ? std::vector{key, from} : std::vector{key}, [=](SessionShelf& shelf) {
    if (shelf.files().stamp(key)) throw SessionExists(error_line("session", "a new id", "'" + key.id + "'"));
    auto created = shelf.take(key, true);
    if (is_fork) {
      auto source = shelf.take(from, false);
      created.stored = {source.stored.session.clone(), source.stored.notes};
      shelf.put_back(std::move(source));
    }
    shelf.save(created);
    shelf.put_back(std::move(created));
    return facts_json(state, shelf, key);
  });
}

// Changes the file; the copy in memory is loaded again when it is used.
Route change(const ServedState& state, const char* name,
             std::function<void(const SessionFiles&, const SessionKey&, const json& body)> action) {
  return {"POST", std::string("/sessions/{id}/") + name, [=](const ApiCall& call) {
            const SessionKey key{call.owner, call.id};
            const auto body = optional_body(call.request);
            answer_with(state, call, {key}, [=](SessionShelf& shelf) {
              {
                const auto lock = shelf.lock(key);
                shelf.forget(key);
                action(shelf.files(), key, body);
              }
              return facts_json(state, shelf, key);
            });
          }};
}

void decay(const SessionFiles& files, const SessionKey& key, const json& body) {
  const auto factor = body.value("factor", json(0.5));
  if (!factor.is_number() || factor.get<double>() < 0 || factor.get<double>() > 1)
    fail("\"factor\"", "a number from 0 to 1", json_text(factor));
  files.change(key, [&](const std::string& path) { decay_session(path, factor.get<double>()); });
}

// Streams the progress of reading a text, with the perplexity so far, with and without fast weights.
class ReadingProgress : public JobListener {
 public:
  ReadingProgress(std::shared_ptr<Exchange> exchange, std::string id)
      : exchange_(std::move(exchange)), id_(std::move(id)) {}

  void on_prompt(const PromptProgress& progress, const std::vector<ScoredToken>&) override {
    begin();
    exchange_->send(sse_event(to_json(progress, "session.read.progress")));
  }
  void on_token(const ScoredToken&, const std::string&) override {}
  void on_rest(const std::string&) override {}
  void on_done(const JobResult& result) override {
    begin();
    auto last = to_json(result.prompt, "session.read.done");
    last["seconds"] = result.prompt_seconds;
    exchange_->send(sse_event(last));
    exchange_->send("data: [DONE]\n\n");
    exchange_->end_stream();
  }
  void on_error(std::exception_ptr error) override {
    const auto answer = error_answer(error);
    if (!is_streaming_) return exchange_->answer(answer);
    exchange_->send("data: " + answer.body + "\n\n");
    exchange_->end_stream();
  }

 private:
  void begin() {
    if (!is_streaming_) exchange_->begin_stream("text/event-stream");
    is_streaming_ = true;
  }

  json to_json(const PromptProgress& progress, const char* object) const {
    const auto perplexity = [&](std::optional<double> sum) {
      return sum && progress.scored > 0 ? json(std::exp(*sum / static_cast<double>(progress.scored))) : json();
    };
    return {{"object", object},
            {"session_id", id_},
            {"tokens", progress.read},
            {"total", progress.total},
            {"perplexity", perplexity(progress.loss_sum)},
            {"slow_perplexity", perplexity(progress.slow_loss_sum)},
            {"rollbacks", progress.rollbacks}};
  }

  std::shared_ptr<Exchange> exchange_;
  std::string id_;
  bool is_streaming_ = false;
};

// The text is the body as it is, or "text" of a JSON object.
void read_text(const ServedState& state, const ApiCall& call) {
  const bool is_json = call.request.header("content-type").starts_with("application/json");
  const auto body = is_json ? request_json(call.request) : json::object();
  if (is_json && !(body.contains("text") && body["text"].is_string())) fail("\"text\"", "a text", "none");
  const auto text = is_json ? body["text"].get<std::string>() : call.request.body;
  check_session_id(call.id);
  JobRequest job;
  job.session = {call.owner, call.id};
  set_adaptation(job, state.model, body);
  job.generation.max_tokens = 0;
  job.wants_slow = true;
  job.make_prompt = [model = &state.model, text](const SessionPlace& place) {
    Prompt prompt{model->encode(MarkedText::plain(text), place.is_fresh)};
    model->check_prompt(prompt.tokens);
    return prompt;
  };
  state.engine.submit(
      Job{std::move(job), std::make_shared<ReadingProgress>(call.exchange, call.id), call.exchange->is_gone()});
}

void export_session(const ServedState& state, const ApiCall& call) {
  call.exchange->answer({.type = "application/octet-stream",
                         .body = state.engine.files().export_bytes({call.owner, call.id}),
                         .headers = {{"Content-Disposition", "attachment; filename=\"" + call.id + ".session\""}}});
}

void import_session(const ServedState& state, const ApiCall& call) {
  const SessionKey key{call.owner, call.id};
  answer_with(state, call, {key}, [state, key, bytes = call.request.body](SessionShelf& shelf) {
    {
      const auto lock = shelf.lock(key);
      shelf.files().import_bytes(key, bytes);
    }
    return facts_json(state, shelf, key);
  });
}

void delete_session(const ServedState& state, const ApiCall& call) {
  const SessionKey key{call.owner, call.id};
  answer_with(state, call, {key}, [key](SessionShelf& shelf) {
    const auto lock = shelf.lock(key);
    shelf.forget(key);
    shelf.files().remove(key);
    return json{{"id", key.id}, {"object", "session"}, {"deleted", true}};
  });
}

}  // namespace

std::vector<Route> session_routes(const ServedState& state) {
  const auto with = [&state](auto answer) { return [state, answer](const ApiCall& call) { answer(state, call); }; };
  return {
      {"GET", "/sessions", with(list_sessions)},
      {"POST", "/sessions", with(create_session)},
      {"GET", "/sessions/{id}",
       [state](const ApiCall& call) {
         const SessionKey key{call.owner, call.id};
         answer_with(state, call, {key}, [=](SessionShelf& shelf) { return facts_json(state, shelf, key); });
       }},
      {"DELETE", "/sessions/{id}", with(delete_session)},
      {"POST", "/sessions/{id}/read", with(read_text)},
      change(state, "undo", [](const SessionFiles& files, const SessionKey& key, const json&) { files.undo(key); }),
      change(state, "reset",
             [](const SessionFiles& files, const SessionKey& key, const json&) {
               files.change(key, [](const std::string& path) { reset_session(path); });
             }),
      change(state, "decay", decay),
      // Every answered request is on disk already.
      change(state, "save", [](const SessionFiles&, const SessionKey&, const json&) {}),
      {"GET", "/sessions/{id}/export", with(export_session)},
      {"POST", "/sessions/{id}/import", with(import_session)},
  };
}

}  // namespace fwl
